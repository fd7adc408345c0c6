package leaf_test

import (
	"errors"
	"fmt"
	"log"

	"example.org/leaf"
)

func Example() {
	alloc, err := leaf.Open(leaf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer alloc.Close()
	order, err := alloc.Tag("order")
	if err != nil {
		log.Fatal(err)
	}
	first, err := order.Next()
	if err != nil {
		log.Fatal(err)
	}
	ids := make([]int64, 3)
	if err := order.Fill(ids); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids[2] - first)
	// Output: 3
}

func ExampleError() {
	alloc, err := leaf.Open(leaf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer alloc.Close()
	order, err := alloc.Tag("ordr")
	if err != nil {
		log.Fatal(err)
	}
	_, err = order.Next()
	fmt.Println(err, errors.Is(err, leaf.ErrNotFound))
	var failure *leaf.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Status == leaf.NotFound, failure.Retryable)
	}
	// Output:
	// leaf: tag 'ordr' does not exist true
	// true false
}

func ExampleGenerator() {
	generator, err := leaf.OpenGenerator(leaf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	first, err := generator.Next()
	if err != nil {
		log.Fatal(err)
	}
	second, err := generator.Next()
	fmt.Println(second > first, err)
	// Output: true <nil>
}

func ExampleLayout_Decode() {
	layout, err := leaf.ParseLayout("leaf")
	if err != nil {
		log.Fatal(err)
	}
	parts, err := layout.Decode(2123769645491028064)
	fmt.Println(parts.Time, parts.Worker, parts.Sequence, err)
	// Output: 2026-11-20 13:25:15.874 +0000 UTC 0 96 <nil>
}

func ExampleStore() {
	store, err := leaf.OpenStore(leaf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Add(leaf.NewTag{Name: "invoice", Step: 50}); err != nil {
		log.Fatal(err)
	}
	tag, err := store.Tag("invoice")
	fmt.Println(tag.Name, tag.NextID, tag.Step, err)
	// Output: invoice 1 50 <nil>
}
