// Package leaf gives unique 64-bit IDs from the buffers of this host, by libleaf.
//
//	alloc, err := leaf.Open(leaf.Options{})
//	order, err := alloc.Tag("order")
//	id, err := order.Next()
//
// All programs of a host draw from one buffer, whatever their language, so an ID is greater than any whose call
// had returned before this one began. Every ID is asked of that buffer: none is put by in the process.
//
// Any number of goroutines may use one value at once, also while another one closes it: Close waits for the calls
// under way, and later ones fail with ErrClosed. What is not closed is closed when the garbage collector finds it.
// A call that has to wait for the store keeps a thread of the operating system until the timeout of the Options.
package leaf

/*
#cgo pkg-config: leaf
#include <stdlib.h>
#include <leaf/leaf.h>
*/
import "C"

import (
	"strconv"
	"strings"
)

// MaxID is the greatest ID.
const MaxID int64 = C.LEAF_MAX_ID

// The libleaf that this package was written for.
const builtFor = "0.1.0"

// Version is that of libleaf.
func Version() string { return C.GoString(C.leaf_version()) }

// requireVersion finds out that the libleaf that was loaded lacks what this package calls, before it does.
func requireVersion(loaded string) error {
	have, need := strings.Split(loaded, "."), strings.Split(builtFor, ".")
	for i := range need {
		var h, n int
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		n, _ = strconv.Atoi(need[i])
		if h > n {
			return nil
		}
		if h < n {
			return &Error{
				Status: Failed,
				Text:   "libleaf " + loaded + " is installed, but this program was built for " + builtFor,
				Hint:   "install libleaf " + builtFor + " or later",
			}
		}
	}
	return nil
}
