package leaf

/*
#include <leaf/leaf.h>
*/
import "C"

import (
	"runtime"
	"time"
)

// Layout says which bits of a snowflake mean what.
type Layout struct{ *layout }

type layout struct{ leaf *C.leaf_layout }

// Decoded is what is in a snowflake.
type Decoded struct {
	Time     time.Time // when the unit of time began in which the ID was made
	Worker   int64     // all worker fields as one number
	Sequence int64     // 0 without such a field
}

// ParseLayout takes a known layout's name, such as leaf or twitter, or bits, such as 41,10,12.
func ParseLayout(text string) (*Layout, error) {
	var t texts
	defer t.free()
	var s *C.char
	if err := t.takeAsIs(&s, text, "the layout"); err != nil {
		return nil, err
	}
	var e *C.leaf_error
	leaf := C.leaf_layout_parse(s, &e)
	return newLayout(leaf, e)
}

func newLayout(leaf *C.leaf_layout, e *C.leaf_error) (*Layout, error) {
	if leaf == nil {
		return nil, taken(e)
	}
	inner := &layout{leaf} // which copies of a Layout share
	runtime.SetFinalizer(inner, func(inner *layout) { C.leaf_layout_free(inner.leaf) })
	return &Layout{inner}, nil
}

// String is the form in which layouts are stored and compared.
func (l *Layout) String() string {
	defer runtime.KeepAlive(l)
	return C.GoString(C.leaf_layout_text(l.leaf))
}

// Decode takes an ID apart.
func (l *Layout) Decode(id int64) (Decoded, error) {
	defer runtime.KeepAlive(l)
	var d C.leaf_decoded
	var e *C.leaf_error
	if C.leaf_decode(l.leaf, C.int64_t(id), &d, &e) != C.LEAF_OK {
		return Decoded{}, taken(e)
	}
	return Decoded{time.UnixMilli(int64(d.unix_ms)).UTC(), int64(d.worker), int64(d.sequence)}, nil
}

// Encode puts an ID together.
func (l *Layout) Encode(parts Decoded) (int64, error) {
	defer runtime.KeepAlive(l)
	d := C.leaf_decoded{
		unix_ms:  C.int64_t(parts.Time.UnixMilli()),
		worker:   C.int64_t(parts.Worker),
		sequence: C.int64_t(parts.Sequence),
	}
	var id C.int64_t
	var e *C.leaf_error
	if C.leaf_encode(l.leaf, &d, &id, &e) != C.LEAF_OK {
		return 0, taken(e)
	}
	return int64(id), nil
}

// ceilMilli is the first millisecond that does not begin before t.
func ceilMilli(t time.Time) C.int64_t {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return C.int64_t(ms)
}

// Bounds gives the least and the greatest ID of the times in [from, to), both included. The time of an ID is the
// millisecond that Decode gives.
func (l *Layout) Bounds(from, to time.Time) (first, last int64, err error) {
	defer runtime.KeepAlive(l)
	var lo, hi C.int64_t
	var e *C.leaf_error
	if C.leaf_bounds(l.leaf, ceilMilli(from), ceilMilli(to), &lo, &hi, &e) != C.LEAF_OK {
		return 0, 0, taken(e)
	}
	return int64(lo), int64(hi), nil
}
