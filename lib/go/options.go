package leaf

/*
#include <stdlib.h>
#include <leaf/leaf.h>
*/
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// Choice is yes, no, or what the host goes by.
type Choice int

const (
	Default Choice = C.LEAF_DEFAULT
	Yes     Choice = C.LEAF_YES
	No      Choice = C.LEAF_NO
)

// Options say what to open. What is left at its zero value is what all programs of this host go by: the environment
// and the configuration files of leafctl.yaml(5).
type Options struct {
	Store           string // sqlite:PATH, what libpq takes, or a store's name in the configuration
	RuntimeDir      string // the folder of the host's buffers
	ConfigFile      string // in place of the user's
	Program         string // what the program goes by in the database
	UseHostDefaults Choice // No: nothing is read from environment and files; Store has to be set then
	HostBuffer      Choice // whether the processes of the host share what is buffered
	Group           Choice // whether the group of the folder shares it too
	// Timeout is how long a call may wait; 0: 5 s; below 0: one attempt.
	Timeout time.Duration

	// WorkerName is of OpenGenerator alone. It stays the same over restarts; empty: the configuration's, else
	// this host's name.
	WorkerName string
	// Layout is of OpenGenerator alone: what the deployment has to have.
	Layout string
}

// texts are C strings, freed together.
type texts []*C.char

func (t *texts) free() {
	for _, text := range *t {
		C.free(unsafe.Pointer(text))
	}
}

// take puts NULL for an empty text.
func (t *texts) take(place **C.char, text, name string) error {
	if text == "" {
		return nil
	}
	return t.takeAsIs(place, text, name)
}

func (t *texts) takeAsIs(place **C.char, text, name string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return &Error{Status: Usage, Text: name + " has a zero byte"}
	}
	*place = C.CString(text)
	*t = append(*t, *place)
	return nil
}

// with calls `open` with the options as C has them.
func (o *Options) with(open func(*C.leaf_options) error) error {
	if err := requireVersion(Version()); err != nil {
		return err
	}
	var t texts
	defer t.free()
	// Memory of C, since it holds pointers.
	options := (*C.leaf_options)(C.calloc(1, C.sizeof_leaf_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_leaf_options
	for _, text := range []struct {
		place **C.char
		value string
		name  string
	}{
		{&options.store, o.Store, "Options.Store"},
		{&options.runtime_dir, o.RuntimeDir, "Options.RuntimeDir"},
		{&options.config_file, o.ConfigFile, "Options.ConfigFile"},
		{&options.program, o.Program, "Options.Program"},
		{&options.worker_name, o.WorkerName, "Options.WorkerName"},
		{&options.layout, o.Layout, "Options.Layout"},
	} {
		if err := t.take(text.place, text.value, text.name); err != nil {
			return err
		}
	}
	options.use_host_defaults = C.int(o.UseHostDefaults)
	options.host_buffer = C.int(o.HostBuffer)
	options.group = C.int(o.Group)
	switch {
	case o.Timeout > 0: // up, for 0 is the default
		options.timeout_ms = C.int64_t((o.Timeout-1)/time.Millisecond + 1)
	case o.Timeout < 0:
		options.timeout_ms = -1
	}
	return open(options)
}
