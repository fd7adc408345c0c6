package leaf

/*
#include <stdlib.h>
#include <leaf/leaf.h>

// Without a pointer into Go's memory, which would have to be moved to the heap.
static int64_t leaf_go_tag_try_next(leaf_tag* tag) {
  int64_t id;
  return leaf_tag_try_next(tag, &id) ? id : -1;
}
*/
import "C"

import (
	"runtime"
	"strconv"
	"sync"
)

// Range holds the IDs from Lo up to, and not including, Hi.
type Range struct{ Lo, Hi int64 }

// Allocator gives dense IDs of tags.
type Allocator struct {
	_ noCopy
	*allocator
}

// allocator is what tags lead to; the garbage collector closes it for an Allocator that nobody has any more.
type allocator struct {
	handle
	leaf  *C.leaf_allocator
	mutex sync.Mutex
	shut  bool
	tags  map[*tag]struct{} // that are open
}

// Open connects to nothing yet.
func Open(options Options) (*Allocator, error) {
	inner := &allocator{tags: map[*tag]struct{}{}}
	err := options.with(func(o *C.leaf_options) error {
		var e *C.leaf_error
		if inner.leaf = C.leaf_allocator_open(o, &e); inner.leaf == nil {
			return taken(e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inner.open(func() { C.leaf_allocator_close(inner.leaf) })
	a := &Allocator{allocator: inner}
	runtime.SetFinalizer(a, func(a *Allocator) { go a.allocator.close() })
	return a, nil
}

// Close closes the allocator's tags too, and waits for the calls under way.
func (a *Allocator) Close() error {
	defer runtime.KeepAlive(a)
	return a.allocator.close()
}

func (a *allocator) close() error {
	a.mutex.Lock()
	if a.shut {
		a.mutex.Unlock()
		return ErrClosed
	}
	a.shut = true
	open := make([]*tag, 0, len(a.tags))
	for t := range a.tags {
		open = append(open, t)
	}
	a.mutex.Unlock()
	for _, t := range open {
		t.handle.shut()
	}
	return a.handle.close()
}

// Store is the URL of the store, without a password.
func (a *Allocator) Store() string {
	defer runtime.KeepAlive(a)
	if !a.enter() {
		return ""
	}
	defer a.leave()
	return C.GoString(C.leaf_allocator_store(a.leaf))
}

// Tag gives a handle; whether the tag exists is found out when an ID is drawn.
func (a *Allocator) Tag(name string) (*Tag, error) {
	defer runtime.KeepAlive(a)
	if !a.enter() { // left when the tag is closed
		return nil, ErrClosed
	}
	t, err := a.allocator.tag(name)
	if err != nil {
		a.leave()
		return nil, err
	}
	if !a.add(t) {
		t.close()
		return nil, ErrClosed
	}
	result := &Tag{tag: t, name: name, allocator: a}
	runtime.SetFinalizer(result, func(result *Tag) { go result.tag.close() })
	return result, nil
}

func (a *allocator) tag(name string) (*tag, error) {
	var t texts
	defer t.free()
	var text *C.char
	if err := t.takeAsIs(&text, name, "the tag's name"); err != nil {
		return nil, err
	}
	var e *C.leaf_error
	made := &tag{leaf: C.leaf_allocator_tag(a.leaf, text, &e)}
	if made.leaf == nil {
		return nil, taken(e)
	}
	made.open(func() {
		C.leaf_tag_close(made.leaf)
		a.mutex.Lock()
		delete(a.tags, made)
		a.mutex.Unlock()
		a.leave()
	})
	return made, nil
}

func (a *allocator) add(t *tag) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.shut {
		a.tags[t] = struct{}{}
	}
	return !a.shut
}

// Tag gives the IDs of one tag.
type Tag struct {
	_ noCopy
	*tag
	name      string
	allocator *Allocator // kept open
}

type tag struct {
	handle
	leaf *C.leaf_tag
}

// Close waits for the calls under way.
func (t *Tag) Close() error {
	defer runtime.KeepAlive(t)
	return t.tag.close()
}

// Name is the tag's.
func (t *Tag) Name() string { return t.name }

// Next gives the next ID: from memory while the buffer has IDs.
func (t *Tag) Next() (int64, error) {
	inner := t.tag
	if !inner.enter() {
		return 0, ErrClosed
	}
	id := int64(C.leaf_go_tag_try_next(inner.leaf))
	var err error
	if id < 0 {
		id, err = inner.wait()
	}
	inner.leave()
	runtime.KeepAlive(t)
	return id, err
}

func (t *tag) wait() (int64, error) {
	var id C.int64_t
	var e *C.leaf_error
	if C.leaf_tag_next(t.leaf, &id, &e) != C.LEAF_OK {
		return 0, taken(e)
	}
	return int64(id), nil
}

// Range gives one run of consecutive IDs, 1 to atMost of them.
func (t *Tag) Range(atMost int64) (Range, error) {
	defer runtime.KeepAlive(t)
	if atMost < 1 {
		return Range{}, &Error{Status: Usage, Text: "a range of " + strconv.FormatInt(atMost, 10) + " IDs was asked for"}
	}
	if !t.enter() {
		return Range{}, ErrClosed
	}
	defer t.leave()
	var r C.leaf_range
	var e *C.leaf_error
	if C.leaf_tag_next_range(t.leaf, C.uint64_t(atMost), &r, &e) != C.LEAF_OK {
		return Range{}, taken(e)
	}
	return Range{int64(r.lo), int64(r.hi)}, nil
}

// Fill fills ids in increasing order; they need not be consecutive. What was drawn before it failed is lost.
func (t *Tag) Fill(ids []int64) error {
	defer runtime.KeepAlive(t)
	if !t.enter() {
		return ErrClosed
	}
	defer t.leave()
	if len(ids) == 0 {
		return nil
	}
	var e *C.leaf_error
	if C.leaf_tag_fill(t.leaf, (*C.int64_t)(&ids[0]), C.size_t(len(ids)), &e) != C.LEAF_OK {
		return taken(e)
	}
	return nil
}
