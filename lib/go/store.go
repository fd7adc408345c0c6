package leaf

/*
#include <stdlib.h>
#include <leaf/leaf.h>
*/
import "C"

import (
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Store is for looking after tags. A call waits until the one before has ended.
type Store struct {
	_ noCopy
	*store
}

type store struct {
	handle
	leaf *C.leaf_store
}

// NewTag is a tag to be added. What is left at its zero value takes its default.
type NewTag struct {
	Name        string
	Description string // 256 characters at most
	Step        int64  // IDs in a segment, a million at most; 0: 1000
	Start       int64  // the first ID; 0: 1
	Limit       int64  // the last ID; 0: MaxID
}

// TagInfo is a tag as the store has it.
type TagInfo struct {
	Name        string
	Description string
	NextID      int64 // the first ID that has not been granted to a host; past MaxID if none is left
	Step        int64 // IDs in a segment
	Start       int64 // the first ID that it ever had; 1 where that is not known
	Limit       int64 // the last ID that it may give
	Updated     time.Time
	Granted     time.Time // the last grant; zero if there was none
}

// OpenStore connects to nothing yet.
func OpenStore(options Options) (*Store, error) {
	inner := &store{}
	err := options.with(func(o *C.leaf_options) error {
		var e *C.leaf_error
		if inner.leaf = C.leaf_store_open(o, &e); inner.leaf == nil {
			return taken(e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inner.open(func() { C.leaf_store_close(inner.leaf) })
	s := &Store{store: inner}
	runtime.SetFinalizer(s, func(s *Store) { go s.store.close() })
	return s, nil
}

// Close waits for the calls under way.
func (s *Store) Close() error {
	defer runtime.KeepAlive(s)
	return s.store.close()
}

// Add adds a tag. One that exists with the same values is no error.
func (s *Store) Add(tag NewTag) error {
	defer runtime.KeepAlive(s)
	if !s.enter() {
		return ErrClosed
	}
	defer s.leave()
	var t texts
	defer t.free()
	added := (*C.leaf_new_tag)(C.calloc(1, C.sizeof_leaf_new_tag)) // it holds pointers
	defer C.free(unsafe.Pointer(added))
	added.size = C.sizeof_leaf_new_tag
	if err := t.takeAsIs(&added.name, tag.Name, "the tag's name"); err != nil {
		return err
	}
	if err := t.take(&added.description, tag.Description, "the tag's description"); err != nil {
		return err
	}
	added.step = C.int64_t(tag.Step)
	added.start = C.int64_t(tag.Start)
	added.limit = C.int64_t(tag.Limit)
	var e *C.leaf_error
	if C.leaf_store_add_tag(s.leaf, added, &e) != C.LEAF_OK {
		return taken(e)
	}
	return nil
}

// Tag is the tag of that name.
func (s *Store) Tag(name string) (TagInfo, error) {
	defer runtime.KeepAlive(s)
	if !s.enter() {
		return TagInfo{}, ErrClosed
	}
	defer s.leave()
	var t texts
	defer t.free()
	var text *C.char
	if err := t.takeAsIs(&text, name, "the tag's name"); err != nil {
		return TagInfo{}, err
	}
	var e *C.leaf_error
	list := C.leaf_store_tag(s.leaf, text, &e)
	if list == nil {
		return TagInfo{}, taken(e)
	}
	return infos(list)[0], nil
}

// Tags are all tags, by name.
func (s *Store) Tags() ([]TagInfo, error) {
	defer runtime.KeepAlive(s)
	if !s.enter() {
		return nil, ErrClosed
	}
	defer s.leave()
	var e *C.leaf_error
	list := C.leaf_store_tags(s.leaf, &e)
	if list == nil {
		return nil, taken(e)
	}
	return infos(list), nil
}

// infos frees the list.
func infos(list *C.leaf_tag_list) []TagInfo {
	defer C.leaf_tag_list_free(list)
	result := make([]TagInfo, int(C.leaf_tag_list_size(list)))
	for i := range result {
		info := C.leaf_tag_list_at(list, C.size_t(i))
		result[i] = TagInfo{
			Name:        C.GoString(info.name),
			Description: C.GoString(info.description),
			NextID:      int64(info.next_id),
			Step:        int64(info.step),
			Start:       int64(info.start),
			Limit:       int64(info.limit),
			Updated:     time.UnixMilli(int64(info.updated_ms)).UTC(),
		}
		if info.granted_ms != math.MinInt64 {
			result[i].Granted = time.UnixMilli(int64(info.granted_ms)).UTC()
		}
	}
	return result
}
