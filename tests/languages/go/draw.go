// What mixed_storm.hpp asks of a program, in Go.
package main

import (
	"bufio"
	"fmt"
	"os"

	"example.org/leaf"
)

func draw() error {
	alloc, err := leaf.Open(leaf.Options{})
	if err != nil {
		return err
	}
	tag, err := alloc.Tag("storm")
	if err != nil {
		return err
	}
	generator, err := leaf.OpenGenerator(leaf.Options{WorkerName: "storm"})
	if err != nil {
		return err
	}
	output := bufio.NewWriter(os.Stdout)
	for count := 0; ; {
		if _, err := fmt.Scan(&count); err != nil {
			return nil // the end
		}
		for i := 0; i < count; i++ {
			id, err := tag.Next()
			if err != nil {
				return err
			}
			fmt.Fprintf(output, "t%d\n", id)
			if i%4 != 0 {
				continue
			}
			if id, err = generator.Next(); err != nil {
				return err
			}
			fmt.Fprintf(output, "s%d\n", id)
		}
		fmt.Fprintln(output, ".")
		if err := output.Flush(); err != nil {
			return err
		}
	}
}

func main() {
	if err := draw(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
