package leaf_test

import (
	"testing"

	"example.org/leaf"
)

func BenchmarkTagNext(b *testing.B) {
	order := openTag(b, "order")
	must[int64](b)(order.Next())
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, err := order.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTagNextParallel(b *testing.B) {
	order := openTag(b, "order")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := order.Next(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkTagFill1000(b *testing.B) {
	order := openTag(b, "order")
	ids := make([]int64, 1000)
	b.ResetTimer()
	for i := 0; i < b.N; i += len(ids) {
		if err := order.Fill(ids); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGeneratorNext(b *testing.B) {
	generator := must[*leaf.Generator](b)(leaf.OpenGenerator(leaf.Options{}))
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, err := generator.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
