// Package copies is wrong, which vet is to find.
package copies

import "example.org/leaf"

// Service would lose its tag to the garbage collector.
type Service struct{ ids leaf.Tag }

// New copies.
func New(t *leaf.Tag) Service { return Service{*t} }
