package leaf

/*
#include <leaf/leaf.h>
*/
import "C"

import (
	"errors"
	"strconv"
)

// Status says of which kind an error is. It is an error itself, for errors.Is.
type Status int

const (
	Failed      Status = C.LEAF_FAILED      // nothing below fits
	Usage       Status = C.LEAF_USAGE       // an argument or the configuration is wrong
	Unavailable Status = C.LEAF_UNAVAILABLE // the store is out of reach or did not answer in time
	NotFound    Status = C.LEAF_NOT_FOUND   // no such tag or worker
	Refused     Status = C.LEAF_REFUSED     // uniqueness could not be guaranteed
	Exhausted   Status = C.LEAF_EXHAUSTED   // no IDs are left
)

func (s Status) Error() string {
	switch s {
	case Failed:
		return "leaf: failed"
	case Usage:
		return "leaf: wrong usage"
	case Unavailable:
		return "leaf: unavailable"
	case NotFound:
		return "leaf: not found"
	case Refused:
		return "leaf: refused"
	case Exhausted:
		return "leaf: exhausted"
	}
	return "leaf: status " + strconv.Itoa(int(s))
}

// What errors.Is compares with.
var (
	ErrFailed      error = Failed
	ErrUsage       error = Usage
	ErrUnavailable error = Unavailable
	ErrNotFound    error = NotFound
	ErrRefused     error = Refused
	ErrExhausted   error = Exhausted
	// ErrClosed is what a call on a closed value gives.
	ErrClosed = errors.New("leaf: already closed")
)

// Error is what libleaf says is wrong.
type Error struct {
	Status    Status
	Text      string // one line without a final stop
	Hint      string // what can be done about it; may be empty
	Retryable bool   // whether the same call may succeed later without anybody changing anything
}

func (e *Error) Error() string { return "leaf: " + e.Text }

// Unwrap leads to the Status.
func (e *Error) Unwrap() error { return e.Status }

// taken frees the error of a call.
func taken(e *C.leaf_error) error {
	defer C.leaf_error_free(e)
	return &Error{
		Status:    Status(C.leaf_error_status(e)),
		Text:      C.GoString(C.leaf_error_text(e)),
		Hint:      C.GoString(C.leaf_error_hint(e)),
		Retryable: C.leaf_error_is_retryable(e) != 0,
	}
}
