package leaf

import (
	"math"
	"sync/atomic"
)

// handle counts the calls on what libleaf has opened, so that it is closed after the last one.
type handle struct {
	users atomic.Int64 // plus isClosed
	freed atomic.Bool
	free  func()
	gone  chan struct{}
}

const isClosed = math.MinInt64

// noCopy has vet warn of copies: the garbage collector closes what it finds nobody has, copy or not.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

func (h *handle) open(free func()) {
	h.free = free
	h.gone = make(chan struct{})
}

// enter is false, and then nothing has to be left, for a handle that was closed.
func (h *handle) enter() bool {
	if h.users.Add(1) > 0 {
		return true
	}
	h.leave()
	return false
}

// leave closes it for libleaf if this was the last call; one that only looked in may come to be that.
func (h *handle) leave() {
	if h.users.Add(-1) == isClosed && h.freed.CompareAndSwap(false, true) {
		h.free()
		close(h.gone)
	}
}

// shut keeps new calls out; false if that was done before.
func (h *handle) shut() bool {
	for {
		users := h.users.Load()
		if users < 0 {
			return false
		}
		if h.users.CompareAndSwap(users, users+isClosed+1) {
			h.leave()
			return true
		}
	}
}

// close waits for the calls under way.
func (h *handle) close() error {
	if !h.shut() {
		return ErrClosed
	}
	<-h.gone
	return nil
}
