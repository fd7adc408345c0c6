package leaf_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/leaf"
)

// childDraws is set for processes that the tests start from this program: how many IDs they write.
const childDraws = "LEAF_GO_TEST_CHILD_DRAWS"

func TestMain(m *testing.M) {
	if count := os.Getenv(childDraws); count != "" {
		draw(count)
		return
	}
	folder, err := os.MkdirTemp("/dev/shm", "leaf-go-")
	if err != nil {
		panic(err)
	}
	useStore(folder) // of examples and benchmarks
	leafctl("add-tag", "-q", "order")
	status := m.Run()
	remove(folder)
	os.Exit(status)
}

// remove goes on while who fetches ahead in the background writes into it.
func remove(folder string) {
	for i := 0; i < 200 && os.RemoveAll(folder) != nil; i++ {
		time.Sleep(10 * time.Millisecond)
	}
}

func draw(count string) {
	n, _ := strconv.Atoi(count)
	alloc, err := leaf.Open(leaf.Options{})
	if err != nil {
		panic(err)
	}
	order, err := alloc.Tag("order")
	if err != nil {
		panic(err)
	}
	for i := 0; i < n; i++ {
		id, err := order.Next()
		if err != nil {
			panic(err)
		}
		fmt.Println(id)
	}
}

// useStore leads all to a new store in SQLite.
func useStore(folder string) {
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "LEAFCTL_") || strings.HasPrefix(variable, "XDG_") {
			name, _, _ := strings.Cut(variable, "=")
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", folder)
	os.Setenv("LEAFCTL_STORE", "sqlite:"+filepath.Join(folder, "leaf.db"))
	os.Setenv("LEAFCTL_RUNTIME_DIR", filepath.Join(folder, "run"))
	os.Setenv("LEAFCTL_CONFIG", "/dev/null")
	leafctl("init-db", "-q")
}

func leafctl(arguments ...string) string {
	command := exec.Command("leafctl", arguments...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		panic(fmt.Sprint("leafctl ", arguments, ": ", err))
	}
	return string(output)
}

func shellNext(tag string) int64 {
	id, err := strconv.ParseInt(strings.TrimSpace(leafctl("next", tag)), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// newStore has the tags, each as add-tag takes it.
func newStore(t *testing.T, tags ...string) string {
	t.Helper()
	for _, name := range []string{"HOME", "LEAFCTL_STORE", "LEAFCTL_RUNTIME_DIR"} {
		t.Setenv(name, os.Getenv(name)) // restored at the end
	}
	folder, err := os.MkdirTemp("/dev/shm", "leaf-go-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(folder) })
	useStore(folder)
	for _, tag := range tags {
		leafctl(append([]string{"add-tag", "-q"}, strings.Fields(tag)...)...)
	}
	return folder
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func openTag(t testing.TB, name string) *leaf.Tag {
	t.Helper()
	alloc := must[*leaf.Allocator](t)(leaf.Open(leaf.Options{}))
	return must[*leaf.Tag](t)(alloc.Tag(name))
}

func allDiffer(t *testing.T, ids []int64) {
	t.Helper()
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			t.Fatalf("ID %d was given twice", id)
		}
		seen[id] = true
	}
}

// lines are the whole ones of what a process wrote, as IDs.
func lines(output string) []int64 {
	var ids []int64
	scanner := bufio.NewScanner(strings.NewReader(output[:strings.LastIndexByte(output, '\n')+1]))
	for scanner.Scan() {
		id, err := strconv.ParseInt(scanner.Text(), 10, 64)
		if err != nil {
			panic(err)
		}
		ids = append(ids, id)
	}
	return ids
}
