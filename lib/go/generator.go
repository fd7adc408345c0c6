package leaf

/*
#include <leaf/leaf.h>

static int64_t leaf_go_generator_try_next(leaf_generator* generator) {
  int64_t id;
  return leaf_generator_try_next(generator, &id) ? id : -1;
}
*/
import "C"

import "runtime"

// Generator gives snowflakes: IDs that begin with the time.
type Generator struct {
	_ noCopy
	*generator
}

type generator struct {
	handle
	leaf *C.leaf_generator
}

// OpenGenerator leases a worker, or takes the one that this host has.
func OpenGenerator(options Options) (*Generator, error) {
	inner := &generator{}
	err := options.with(func(o *C.leaf_options) error {
		var e *C.leaf_error
		if inner.leaf = C.leaf_generator_open(o, &e); inner.leaf == nil {
			return taken(e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inner.open(func() { C.leaf_generator_close(inner.leaf) })
	g := &Generator{generator: inner}
	runtime.SetFinalizer(g, func(g *Generator) { go g.generator.close() })
	return g, nil
}

// Close gives back what no other process of the host uses, after the calls under way.
func (g *Generator) Close() error {
	defer runtime.KeepAlive(g)
	return g.generator.close()
}

// Next gives the next ID.
func (g *Generator) Next() (int64, error) {
	inner := g.generator
	if !inner.enter() {
		return 0, ErrClosed
	}
	id := int64(C.leaf_go_generator_try_next(inner.leaf))
	var err error
	if id < 0 {
		id, err = inner.wait()
	}
	inner.leave()
	runtime.KeepAlive(g)
	return id, err
}

func (g *generator) wait() (int64, error) {
	var id C.int64_t
	var e *C.leaf_error
	if C.leaf_generator_next(g.leaf, &id, &e) != C.LEAF_OK {
		return 0, taken(e)
	}
	return int64(id), nil
}

// Fill fills ids in increasing order. What was made before it failed is lost.
func (g *Generator) Fill(ids []int64) error {
	defer runtime.KeepAlive(g)
	if !g.enter() {
		return ErrClosed
	}
	defer g.leave()
	if len(ids) == 0 {
		return nil
	}
	var e *C.leaf_error
	if C.leaf_generator_fill(g.leaf, (*C.int64_t)(&ids[0]), C.size_t(len(ids)), &e) != C.LEAF_OK {
		return taken(e)
	}
	return nil
}

// Worker is the number of the worker in use.
func (g *Generator) Worker() (int64, error) {
	defer runtime.KeepAlive(g)
	if !g.enter() {
		return 0, ErrClosed
	}
	defer g.leave()
	var worker C.int64_t
	var e *C.leaf_error
	if C.leaf_generator_worker(g.leaf, &worker, &e) != C.LEAF_OK {
		return 0, taken(e)
	}
	return int64(worker), nil
}

// Layout is that of the generator's deployment.
func (g *Generator) Layout() (*Layout, error) {
	defer runtime.KeepAlive(g)
	if !g.enter() {
		return nil, ErrClosed
	}
	defer g.leave()
	var e *C.leaf_error
	leaf := C.leaf_generator_layout(g.leaf, &e)
	return newLayout(leaf, e)
}
