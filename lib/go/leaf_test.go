package leaf_test

import (
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/leaf"
)

func TestShellAndGoDrawFromOneBuffer(t *testing.T) {
	newStore(t, "order")
	if id := shellNext("order"); id != 1 {
		t.Fatal(id)
	}
	order := openTag(t, "order")
	next := must[int64](t)
	if id := next(order.Next()); id != 2 {
		t.Fatal(id)
	}
	if r := must[leaf.Range](t)(order.Range(4)); r != (leaf.Range{Lo: 3, Hi: 7}) {
		t.Fatal(r)
	}
	ids := make([]int64, 3)
	if err := order.Fill(ids); err != nil || ids[0] != 7 || ids[2] != 9 {
		t.Fatal(ids, err)
	}
	if err := order.Fill(nil); err != nil {
		t.Fatal(err)
	}
	if id := shellNext("order"); id != 10 {
		t.Fatal(id)
	}
	if id := next(order.Next()); id != 11 || order.Name() != "order" {
		t.Fatal(id, order.Name())
	}
}

func TestGoroutines(t *testing.T) {
	newStore(t, "order --step 10")
	order := openTag(t, "order")
	generator := must[*leaf.Generator](t)(leaf.OpenGenerator(leaf.Options{}))
	const each = 2000
	ids, snowflakes := make([][]int64, 8), make([][]int64, 8)
	var group sync.WaitGroup
	for i := range ids {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for j := 0; j < each; j++ {
				id, err := order.Next()
				snowflake, err2 := generator.Next()
				if err != nil || err2 != nil || j > 0 && (id <= ids[i][j-1] || snowflake <= snowflakes[i][j-1]) {
					t.Error(id, snowflake, err, err2)
					return
				}
				ids[i], snowflakes[i] = append(ids[i], id), append(snowflakes[i], snowflake)
			}
			many := make([]int64, 100)
			if err := order.Fill(many); err != nil {
				t.Error(err)
			}
			ids[i] = append(ids[i], many...)
		}(i)
	}
	group.Wait()
	var all, allSnowflakes []int64
	for i := range ids {
		all, allSnowflakes = append(all, ids[i]...), append(allSnowflakes, snowflakes[i]...)
	}
	if len(all) != 8*(each+100) {
		t.Fatal(len(all))
	}
	allDiffer(t, all)
	allDiffer(t, allSnowflakes)
}

func TestProcessesSomeOfThemKilled(t *testing.T) {
	newStore(t, "order --step 20")
	start := func(count string) (*exec.Cmd, io.ReadCloser) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDraws+"="+count)
		child.Stderr = os.Stderr
		output := must[io.ReadCloser](t)(child.StdoutPipe())
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		return child, output
	}
	var group sync.WaitGroup
	var mutex sync.Mutex
	var all []int64
	for i := 0; i < 6; i++ {
		count := "2000"
		if i%2 == 0 {
			count = "1000000000"
		}
		child, output := start(count)
		group.Add(1)
		go func(i int) {
			defer group.Done()
			var text strings.Builder
			if i%2 == 0 {
				io.CopyN(&text, output, 1000)
				child.Process.Kill()
			}
			io.Copy(&text, output)
			if err := child.Wait(); (err == nil) != (i%2 != 0) {
				t.Error(i, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			all = append(all, lines(text.String())...)
		}(i)
	}
	for i := 0; i < 20; i++ {
		id := shellNext("order")
		mutex.Lock()
		all = append(all, id)
		mutex.Unlock()
	}
	group.Wait()
	allDiffer(t, append(all, shellNext("order")))
	if len(all) < 3*2000+20 {
		t.Fatal(len(all))
	}
}

func TestLayout(t *testing.T) {
	layout := must[*leaf.Layout](t)(leaf.ParseLayout("leaf"))
	if layout.String() != "time:41,worker:10,sequence:12/1ms@1288834974657" {
		t.Fatal(layout)
	}
	const id = 2123769645491028064
	at := time.Date(2026, 11, 20, 13, 25, 15, 874e6, time.UTC)
	parts := must[leaf.Decoded](t)(layout.Decode(id))
	if parts != (leaf.Decoded{Time: at, Worker: 0, Sequence: 96}) {
		t.Fatal(parts)
	}
	if again := must[int64](t)(layout.Encode(parts)); again != id {
		t.Fatal(again)
	}
	least := must[int64](t)(layout.Encode(leaf.Decoded{Time: at}))
	greatest := must[int64](t)(layout.Encode(leaf.Decoded{Time: at, Worker: 1023, Sequence: 4095}))
	for _, end := range []time.Time{at.Add(1), at.Add(time.Millisecond)} {
		if first, last, err := layout.Bounds(at, end); err != nil || first != least || last != greatest {
			t.Fatal(first, last, err)
		}
	}
	// Adjacent ranges share no ID and miss none, also between milliseconds.
	if first, _, err := layout.Bounds(at.Add(-1), at.Add(time.Millisecond)); err != nil || first != least {
		t.Fatal(first, err)
	}
	if first, _, err := layout.Bounds(at.Add(1), at.Add(time.Second)); err != nil || first <= greatest {
		t.Fatal(first, err)
	}
}

func TestGenerator(t *testing.T) {
	newStore(t)
	generator := must[*leaf.Generator](t)(leaf.OpenGenerator(leaf.Options{WorkerName: "here"}))
	ids := make([]int64, 1000)
	if err := generator.Fill(ids); err != nil {
		t.Fatal(err)
	}
	if err := generator.Fill(nil); err != nil {
		t.Fatal(err)
	}
	if next := must[int64](t)(generator.Next()); next <= ids[999] {
		t.Fatal(next)
	}
	layout := must[*leaf.Layout](t)(generator.Layout())
	parts := must[leaf.Decoded](t)(layout.Decode(ids[0]))
	if worker := must[int64](t)(generator.Worker()); worker != parts.Worker {
		t.Fatal(worker, parts)
	}
}

func TestStore(t *testing.T) {
	newStore(t)
	store := must[*leaf.Store](t)(leaf.OpenStore(leaf.Options{}))
	tag := leaf.NewTag{Name: "order", Description: "shop örders", Step: 5, Start: 100, Limit: 1 << 60}
	for i := 0; i < 2; i++ {
		if err := store.Add(tag); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Add(leaf.NewTag{Name: "invoice"}); err != nil {
		t.Fatal(err)
	}
	info := must[leaf.TagInfo](t)(store.Tag("order"))
	if time.Since(info.Updated) > time.Hour || !info.Granted.IsZero() {
		t.Fatal(info)
	}
	info.Updated = time.Time{}
	if info != (leaf.TagInfo{Name: "order", Description: "shop örders", NextID: 100, Step: 5, Start: 100, Limit: 1 << 60}) {
		t.Fatal(info)
	}
	if id := must[int64](t)(openTag(t, "order").Next()); id != 100 {
		t.Fatal(id)
	}
	tags := must[[]leaf.TagInfo](t)(store.Tags())
	if len(tags) != 2 || tags[0].Name != "invoice" || tags[0].Step != 1000 || tags[0].Limit != leaf.MaxID ||
		tags[1].Granted.IsZero() {
		t.Fatal(tags)
	}
}

func TestOptions(t *testing.T) {
	folder := newStore(t, "order")
	options := leaf.Options{Store: "sqlite:" + folder + "/leaf.db", UseHostDefaults: leaf.No, Timeout: time.Second, Program: "shop"}
	next := func(o leaf.Options) int64 {
		alloc := must[*leaf.Allocator](t)(leaf.Open(o))
		if alloc.Store() != options.Store {
			t.Fatal(alloc.Store())
		}
		return must[int64](t)(must[*leaf.Tag](t)(alloc.Tag("order")).Next())
	}
	if id := next(options); id != 1 {
		t.Fatal(id)
	}
	options.RuntimeDir = folder + "/run"
	if id := next(options); id != 1001 {
		t.Fatal(id)
	}
	if id := shellNext("order"); id != 1002 {
		t.Fatal(id)
	}
	if id := next(leaf.Options{Store: options.Store, HostBuffer: leaf.No, Timeout: math.MaxInt64}); id != 2001 {
		t.Fatal(id)
	}
	config := filepath.Join(folder, "leafctl.yaml")
	if err := os.WriteFile(config, []byte("stores:\n  shop: "+options.Store+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id := next(leaf.Options{Store: "shop", ConfigFile: config}); id != 1003 {
		t.Fatal(id)
	}
}

// is tells whether err is of libleaf, of that status.
func is(t *testing.T, err error, wanted error) {
	t.Helper()
	var known *leaf.Error
	if !errors.Is(err, wanted) || !errors.As(err, &known) || known.Status != wanted ||
		known.Retryable != (wanted == leaf.ErrUnavailable) || !strings.HasSuffix(err.Error(), known.Text) {
		t.Errorf("%v is not: %v", err, wanted)
	}
}

func TestEachStatus(t *testing.T) {
	folder := newStore(t, "short --limit 3", "order --step 10", "old --step 10")
	alloc := must[*leaf.Allocator](t)(leaf.Open(leaf.Options{}))
	none := must[*leaf.Tag](t)(alloc.Tag("ordr"))
	_, err := none.Next()
	is(t, err, leaf.ErrNotFound)
	if err.Error() != "leaf: tag 'ordr' does not exist" || errors.Unwrap(err) != leaf.NotFound || errors.Is(err, leaf.ErrUsage) {
		t.Error(err)
	}
	_, err = none.Range(2)
	is(t, err, leaf.ErrNotFound)
	is(t, none.Fill(make([]int64, 2)), leaf.ErrNotFound)

	is(t, must[*leaf.Tag](t)(alloc.Tag("short")).Fill(make([]int64, 4)), leaf.ErrExhausted)

	for _, name := range []string{"", "no tag", "ä", "a\x00b", strings.Repeat("x", 129)} {
		_, err = alloc.Tag(name)
		is(t, err, leaf.ErrUsage)
	}
	for _, count := range []int64{0, -1, math.MinInt64} {
		_, err = none.Range(count)
		is(t, err, leaf.ErrUsage)
	}
	_, err = leaf.ParseLayout("41,10,13")
	is(t, err, leaf.ErrUsage)
	_, err = leaf.ParseLayout("leaf\x00")
	is(t, err, leaf.ErrUsage)
	layout := must[*leaf.Layout](t)(leaf.ParseLayout("leaf"))
	_, err = layout.Decode(-1)
	is(t, err, leaf.ErrUsage)
	_, err = layout.Encode(leaf.Decoded{Time: time.Now(), Worker: 1024})
	is(t, err, leaf.ErrUsage)
	_, err = layout.Encode(leaf.Decoded{})
	is(t, err, leaf.ErrExhausted)
	_, _, err = layout.Bounds(time.Now(), time.Now().Add(-time.Hour))
	is(t, err, leaf.ErrUsage)
	for _, options := range []leaf.Options{{UseHostDefaults: leaf.No}, {HostBuffer: 7}, {Store: "a\x00b"}, {Layout: "x y"}} {
		_, err = leaf.Open(options)
		is(t, err, leaf.ErrUsage)
		_, err = leaf.OpenStore(options)
		is(t, err, leaf.ErrUsage)
		_, err = leaf.OpenGenerator(options)
		is(t, err, leaf.ErrUsage)
	}

	store := must[*leaf.Store](t)(leaf.OpenStore(leaf.Options{}))
	_, err = store.Tag("ordr")
	is(t, err, leaf.ErrNotFound)
	for _, tag := range []leaf.NewTag{{}, {Name: "x", Step: -1}, {Name: "x", Start: -1}, {Name: "x", Step: 1000001},
		{Name: "x", Limit: math.MaxInt64}, {Name: "a\x00b"}, {Name: "x", Description: "a\x00b"}} {
		is(t, store.Add(tag), leaf.ErrUsage)
	}
	is(t, store.Add(leaf.NewTag{Name: "order", Step: 11}), leaf.ErrFailed)

	missing := must[*leaf.Store](t)(leaf.OpenStore(leaf.Options{Store: "sqlite:" + folder + "/none.db"}))
	_, err = missing.Tags()
	is(t, err, leaf.ErrUsage)
	_, err = leaf.OpenGenerator(leaf.Options{Store: "postgresql://127.0.0.1:1/ids", Timeout: -1})
	is(t, err, leaf.ErrUnavailable)

	// A store that was put back to a copy has granted less than this host has seen.
	database := filepath.Join(folder, "leaf.db")
	before := must[[]byte](t)(os.ReadFile(database))
	if err := must[*leaf.Tag](t)(alloc.Tag("old")).Fill(make([]int64, 100)); err != nil {
		t.Fatal(err)
	}
	if err := alloc.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(database, before, 0o600); err != nil {
		t.Fatal(err)
	}
	err = openTag(t, "old").Fill(make([]int64, 100000))
	is(t, err, leaf.ErrRefused)
	var refused *leaf.Error
	if errors.As(err, &refused) && refused.Hint == "" {
		t.Error("there is no hint")
	}
}

func TestClosed(t *testing.T) {
	newStore(t, "order")
	alloc := must[*leaf.Allocator](t)(leaf.Open(leaf.Options{}))
	order := must[*leaf.Tag](t)(alloc.Tag("order"))
	other := must[*leaf.Tag](t)(alloc.Tag("order"))
	generator := must[*leaf.Generator](t)(leaf.OpenGenerator(leaf.Options{}))
	store := must[*leaf.Store](t)(leaf.OpenStore(leaf.Options{}))
	for _, closer := range []io.Closer{other, alloc, generator, store} {
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
		if err := closer.Close(); err != leaf.ErrClosed {
			t.Fatal(err)
		}
	}
	check := func(err error) {
		t.Helper()
		if !errors.Is(err, leaf.ErrClosed) {
			t.Error(err)
		}
	}
	check(order.Close()) // with its allocator
	_, err := order.Next()
	check(err)
	_, err = order.Range(1)
	check(err)
	check(order.Fill(make([]int64, 1)))
	_, err = alloc.Tag("order")
	check(err)
	if alloc.Store() != "" {
		t.Error(alloc.Store())
	}
	_, err = generator.Next()
	check(err)
	check(generator.Fill(make([]int64, 1)))
	_, err = generator.Worker()
	check(err)
	_, err = generator.Layout()
	check(err)
	_, err = store.Tags()
	check(err)
	_, err = store.Tag("order")
	check(err)
	check(store.Add(leaf.NewTag{Name: "x"}))
}

func TestCloseWhileInUse(t *testing.T) {
	newStore(t, "order --step 10")
	for round := 0; round < 30; round++ {
		alloc := must[*leaf.Allocator](t)(leaf.Open(leaf.Options{}))
		order := must[*leaf.Tag](t)(alloc.Tag("order"))
		generator := must[*leaf.Generator](t)(leaf.OpenGenerator(leaf.Options{}))
		var group, started sync.WaitGroup
		for i := 0; i < 8; i++ {
			group.Add(1)
			started.Add(1)
			go func(i int) {
				defer group.Done()
				var once sync.Once
				defer once.Do(started.Done)
				for last := int64(0); ; {
					id, err := order.Next()
					if err == nil && i%4 == 0 {
						err = order.Fill(make([]int64, 100))
					}
					if err == nil && i%4 == 1 {
						_, err = generator.Next()
					}
					if err == nil && i%4 == 2 {
						_, err = alloc.Tag("order") // closed with its allocator
					}
					if err != nil {
						if err != leaf.ErrClosed {
							t.Error(err)
						}
						return
					}
					if id <= last {
						t.Error(id, last)
						return
					}
					last = id
					once.Do(started.Done)
				}
			}(i)
		}
		started.Wait()
		closers := []io.Closer{order, alloc, generator}
		for i := range closers {
			if err := closers[(i+round)%3].Close(); err != nil && err != leaf.ErrClosed {
				t.Error(err)
			}
		}
		group.Wait()
	}
}

func mapped(t *testing.T) int {
	return strings.Count(string(must[[]byte](t)(os.ReadFile("/proc/self/maps"))), os.Getenv("LEAFCTL_RUNTIME_DIR"))
}

func TestGarbageCollectorCloses(t *testing.T) {
	newStore(t, "order")
	kept := openTag(t, "order") // its allocator is kept alive by it alone
	must[int64](t)(kept.Next())
	before := mapped(t)
	for i := 0; i < 50; i++ {
		must[int64](t)(openTag(t, "order").Next())
		must[*leaf.Layout](t)(leaf.ParseLayout("leaf"))
		must[[]leaf.TagInfo](t)(must[*leaf.Store](t)(leaf.OpenStore(leaf.Options{})).Tags())
		must[int64](t)(must[*leaf.Generator](t)(leaf.OpenGenerator(leaf.Options{})).Next())
	}
	for i := 0; i < 2000 && mapped(t) > before+5; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if now := mapped(t); now > before+5 {
		t.Fatalf("%d buffers are mapped, %d before", now, before)
	}
	must[int64](t)(kept.Next())
}

func TestOlderLibraryIsNamed(t *testing.T) {
	folder := newStore(t, "order")
	for name, text := range map[string]string{
		"a.c": `const char* leaf_version(void) { return "0.0.9"; }`, "map": "LEAF_C_0 { global: leaf_*; local: *; };",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(folder, "libleaf.so.0")
	compiler := exec.Command("cc", "-shared", "-fPIC", "-Wl,-soname,libleaf.so.0",
		"-Wl,--version-script="+filepath.Join(folder, "map"), "-o", library, filepath.Join(folder, "a.c"))
	if output, err := compiler.CombinedOutput(); err != nil {
		t.Fatal(err, string(output))
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDraws+"=1", "LD_LIBRARY_PATH="+folder)
	output, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "libleaf 0.0.9 is installed, but this program was built for ") {
		t.Fatal(err, string(output))
	}
}
