# leaf.php, by programs as its users write them.
# shellcheck disable=SC2016 # programs of PHP
load ../cli/support
load ../cli/host_support

setup() {
  command -v php >/dev/null || skip 'there is no php'
  new_order_store
}
teardown() {
  [ -z "${server:-}" ] || kill "$server"
  end_host_test
}

# in_php STATUS PROGRAM [OPTION...]: with `caught`, which prints what a call throws.
in_php() {
  local wanted=$1
  { printf '<?php\ndeclare(strict_types=1);\nrequire "%s";\n' "$LEAF_PHP"
    cat <<'PHP'
function caught(callable $call): void
{
    try {
        $call();
        echo "nothing\n";
    } catch (Leaf\Error $e) {
        echo $e::class, ' ', $e->getCode(), ' ', $e->isRetryable() ? 'again' : 'not again', ': ', $e->getMessage(), "\n";
        echo $e->hint === '' ? '' : "hint: $e->hint\n";
    }
}
PHP
    printf '%s\n' "$2"; } >program.php
  shift 2
  expect "$wanted" php -d error_reporting=-1 -d display_errors=stderr -d zend.assertions=1 -d assert.exception=1 "$@" program.php
  says ''
}

@test "IDs of a tag come where the shell left off, singly, many at once and in a range" {
  same 'before' 1 "$(leafctl next order)"
  in_php 0 '$order = Leaf\Allocator::open()->tag("order");
    echo $order->name, " ", $order->next(), "\n", implode(" ", $order->take(3)), "\n", implode(" ", $order->range(4)), "\n";
    echo $order->tryNext(), "\n", gettype($order->next()), "\n";'
  prints $'order 2\n3 4 5\n6 9\n10\ninteger'
  same 'after' 12 "$(leafctl next order)"
}

@test "a signal's handler may draw from the handles that it interrupts" {
  in_php 0 'pcntl_async_signals(true);
    $order = Leaf\Allocator::open()->tag("order");
    $flakes = Leaf\Generator::open(workerName: "php");
    $drawn = [];
    $draw = function () use ($order, $flakes, &$drawn) {
        [$first, $last] = $order->range(3);
        array_push($drawn, $order->next(), $order->tryNext() ?? $order->next(), $flakes->next(), ...range($first, $last));
        assert($flakes->worker() === 0);
        $message = "";
        try { $order->range(0); } catch (Leaf\UsageError $e) { $message = $e->getMessage(); }
        assert($message !== "");
    };
    $handled = 0;
    pcntl_signal(SIGUSR1, function () use ($draw, &$handled) { ++$handled; $draw(); });
    $parent = getmypid();
    if (($child = pcntl_fork()) === 0) {
        while (posix_kill($parent, SIGUSR1));
        posix_kill(getmypid(), SIGKILL);
    }
    while ($handled < 300) $draw();
    posix_kill($child, SIGKILL);
    pcntl_waitpid($child, $status);
    foreach ($drawn as $id) echo $id, "\n";'
  printf '%s\n' "${lines[@]}" >ids
  all_different "$(wc -l <ids)" ids
}

# under_signals PROGRAM: its handler() is called by a signal that comes soon(), once for each time that $isArmed is set:
# in any step of what is called then. The next comes when one was handled, so that they never keep a call from going on.
under_signals() {
  in_php 0 'mt_srand(1);
    pcntl_async_signals(true);
    $posix = FFI::cdef("struct event { void* value; int signal; int how; int thread; char unused[44]; };
        struct times { long every_seconds; long every; long seconds; long nanoseconds; };
        int timer_create(int clock, struct event* event, void** timer);
        int timer_settime(void* timer, int flags, const struct times* times, void* old);", "libc.so.6");
    $isArmed = false;
    function soon(): void {
        global $posix;
        static $timers = [];  // by process, since a child has none of its parent
        if (!isset($timers[getmypid()])) {
            $event = $posix->new("struct event[1]");
            [$event[0]->signal, $event[0]->how, $event[0]->thread] = [SIGALRM, 4, getmypid()];  // SIGEV_THREAD_ID: to PHP alone
            $timers[getmypid()] = $posix->new("void*[1]");
            assert($posix->timer_create(1, $event, $timers[getmypid()]) === 0);
        }
        $times = $posix->new("struct times[1]");
        $times[0]->nanoseconds = mt_rand(1000, 40000);
        $posix->timer_settime($timers[getmypid()][0], 0, $times, null);
    }
    pcntl_signal(SIGALRM, function () {
        global $isArmed;
        if (!$isArmed) { soon(); return; }
        $isArmed = false;
        handler();
    });
    function is_closed(callable $call): void {
        $message = "nothing";
        try { $call(); } catch (Leaf\UsageError $e) { $message = $e->getMessage(); }
        assert(str_ends_with($message, " is closed"), $message);
    }
    '"$1"
}

@test "a signal's handler may close the handle that it interrupts, and open another in its place" {
  leafctl -q add-tag invoice --start 1000000000
  under_signals '$allocator = Leaf\Allocator::open();
    function handler(): void {
        global $allocator, $interrupted, $other;
        $interrupted->close();
        $other = [$allocator->tag("invoice"), Leaf\Layout::parse("twitter")];
        if ($interrupted instanceof Leaf\Allocator) $other[] = Leaf\Allocator::open()->tag("invoice");
    }
    $tag = fn () => $allocator->tag("order");
    $layout = fn () => Leaf\Layout::parse("leaf");
    $flakes = fn () => Leaf\Generator::open(workerName: "php");
    $store = fn () => Leaf\Store::open();
    $bounds = Leaf\Layout::parse("leaf")->bounds(1767225600000, 1769904000000);
    $id = Leaf\Layout::parse("leaf")->encode(1767225600000, 3, 5);
    $check = function (bool $isRight): array { assert($isRight); return []; };
    $cases = [
        [$tag, fn ($order) => [$order->next()]],
        [$tag, fn ($order) => $order->take(3)],
        [$tag, fn ($order) => range(...$order->range(3))],
        [$tag, fn ($order) => ($id = $order->tryNext()) === null ? [] : [$id]],
        [fn () => Leaf\Allocator::open(), function ($a) use (&$made) { return [($made[] = $a->tag("order"))->next()]; }],
        [fn () => Leaf\Allocator::open(), fn ($a) => $check(preg_match("/^(sqlite|postgresql):/", $a->store()) === 1)],
        [$tag, function ($order) use (&$isArmed) { $order->close(); while ($isArmed); $order->next(); }],
        [fn () => Leaf\Allocator::open(), function ($a) use (&$isArmed, &$made) {
            $made[] = $a->tag("order"); $a->close(); while ($isArmed); $a->tag("order");
        }],
        [$flakes, fn ($g) => [$g->next()]],
        [$flakes, fn ($g) => $g->take(3)],
        [$flakes, fn ($g) => $check($g->worker() === 0)],
        [$flakes, fn ($g) => $check($g->layout()->text() === Leaf\Layout::parse("leaf")->text())],
        [$store, fn ($s) => $check(count($s->tags()) === 2)],
        [$store, fn ($s) => $check($s->tag("order")->name === "order")],
        [$store, fn ($s) => $check($s->addTag("invoice", start: 1000000000) === null)],
        [$layout, fn ($l) => $check($l->decode($id)->worker === 3)],
        [$layout, fn ($l) => $check($l->encode(1767225600000, 3, 5) === $id)],
        [$layout, fn ($l) => $check($l->bounds(1767225600000, 1769904000000) === $bounds)],
    ];
    foreach ($cases as [$open, $call]) {
        for ($round = 0; $round < 100; ++$round) {
            $made = [];
            $interrupted = $open();
            $drawn = [];
            is_closed(function () use ($call, $interrupted, &$drawn, &$isArmed) {
                soon();
                $isArmed = true;
                for (;;) array_push($drawn, ...$call($interrupted));
            });
            assert(!$isArmed);
            foreach ($made as $late) is_closed(fn () => $late->next());
            foreach ($drawn as $drawnId) echo $drawnId, "\n";
        }
    }'
  printf '%s\n' "${lines[@]}" >ids
  all_different "$(wc -l <ids)" ids
  same 'IDs of the other tag' '' "$(awk '$1 >= 1000000000 && $1 < 2000000000' ids)"
}

@test "a handle is closed also where a signal's handler throws meanwhile" {
  under_signals 'function handler(): void { throw new DomainException("time is up"); }
    $opened = Leaf\Allocator::open();
    $opened->tag("order")->next();
    $cases = [
        [fn () => $opened->tag("order"), fn ($order) => $order->next()],
        [fn () => Leaf\Allocator::open(), fn ($a) => $a->tag("order")],
        [fn () => Leaf\Layout::parse("leaf"), fn ($l) => $l->text()],
        [fn () => Leaf\Store::open(), fn ($s) => $s->tags()],
        [fn () => Leaf\Generator::open(), fn ($g) => $g->next()],
    ];
    $thrown = 0;
    $mapped = fn () => substr_count(file_get_contents("/proc/self/maps"), getenv("LEAFCTL_RUNTIME_DIR"));
    $before = $mapped();
    foreach ($cases as [$open, $call]) {
        for ($round = 0; $round < 300; ++$round) {
            $handle = $open();
            $tags = [];
            if ($handle instanceof Leaf\Allocator) for ($i = 0; $i < 3; ++$i) $tags[] = $handle->tag("order");
            foreach ($tags as $tag) $tag->next();
            soon();
            try {
                $isArmed = true;
                $handle->close();
                while ($isArmed);
            } catch (DomainException) { ++$thrown; }
            assert(!$isArmed);
            is_closed(fn () => $call($handle));
            foreach ($tags as $tag) is_closed(fn () => $tag->next());
            $handle = $open();
            if ($handle instanceof Leaf\Allocator) $handle->tag("order")->next();
            soon();
            try {
                $isArmed = true;
                $handle = null;
                while ($isArmed);
            } catch (DomainException) { ++$thrown; }
            $handle = null;
        }
    }
    echo $thrown, " ", $mapped() - $before, "\n";'
  prints '3000 0'
}

@test "exit() in a signal's handler ends with its status, also while a handle is closed" {
  under_signals 'function handler(): void { exit(7); }
    for ($round = 0; $round < 200; ++$round) {
        if (($child = pcntl_fork()) === 0) {
            $allocator = Leaf\Allocator::open();
            $order = $allocator->tag("order");
            $order->next();
            $flakes = Leaf\Generator::open(workerName: "php");
            mt_srand($round);
            soon();
            $isArmed = true;
            if ($round % 3 === 0) $order->close();
            if ($round % 3 === 1) $flakes->close();
            $allocator->close();
            while ($isArmed);
        }
        while (pcntl_waitpid($child, $status) !== $child);
        assert(pcntl_wifexited($status) && pcntl_wexitstatus($status) === 7, "status $status in round $round");
    }'
}

@test "what a time does to the layout that asks for it harms nothing" {
  in_php 0 'final class Closing extends DateTimeImmutable {
        public Leaf\Layout $layout;
        public array $others = [];
        public function getTimestamp(): int {
            $this->layout->close();
            for ($i = 0; $i < 20; ++$i) $this->others[] = Leaf\Layout::parse("twitter");
            return parent::getTimestamp();
        }
    }
    $from = new Closing("2026-01-01Z");
    $to = new DateTimeImmutable("2026-01-02Z");
    $kept = Leaf\Layout::parse("leaf");
    $from->layout = Leaf\Layout::parse("leaf");
    assert($from->layout->bounds($from, $to) === $kept->bounds(new DateTime("2026-01-01Z"), $to));
    caught(fn () => $from->layout->bounds($to, $to));
    $from->layout = Leaf\Layout::parse("leaf");
    assert($from->layout->encode($from, 3) === $kept->encode(new DateTime("2026-01-01Z"), 3));
    caught(fn () => $from->layout->text());'
  prints $'Leaf\\UsageError 2 not again: Leaf\\Layout is closed\nLeaf\\UsageError 2 not again: Leaf\\Layout is closed'
}

@test "snowflakes increase, and hold what the store says" {
  in_php 0 '$g = Leaf\Generator::open(workerName: "php");
    foreach ([$g->next(), ...$g->take(5000), $g->next()] as $id) echo $id, "\n";
    $d = $g->layout()->decode($g->next());
    assert($d->worker === $g->worker());
    assert(abs($d->time()->getTimestamp() - time()) < 100);
    assert($g->layout()->text() === Leaf\Layout::parse("leaf")->text());'
  printf '%s\n' "${lines[@]}" >ids
  all_different 5002 ids
  increasing ids
  contains "$(leafctl workers list)" $'\tphp\t'
}

@test "layouts take apart and put together what leafctl does" {
  local id=1256557484213448722
  in_php 0 '$l = Leaf\Layout::parse("leaf");
    $d = $l->decode('$id');
    echo $d->time()->format("Y-m-d\TH:i:s.v\Z"), " $d->unixMs $d->worker $d->sequence\n";
    assert($l->encode($d->time(), $d->worker, $d->sequence) === '$id');
    assert($l->encode($d->unixMs, $d->worker, $d->sequence) === '$id');
    echo implode("\n", $l->bounds(new DateTimeImmutable("2026-01-01Z"), new DateTime("2026-02-01Z"))), "\n";
    echo (new Leaf\Decoded(-1))->time()->format("Y-m-d H:i:s.v"), "\n";
    // Between two milliseconds: IDs of the one before are not in it.
    assert($l->bounds(new DateTime("2026-01-01T00:00:00.0001Z"), new DateTime("2026-01-01T00:00:00.9991Z")) ===
      $l->bounds(1767225600001, 1767225601000));'
  same 'decoded' "$(leafctl decode $id | cut -f 3-6 | tr '\t' ' ')" "${lines[0]}"
  same 'bounds' "$(leafctl bounds --from 2026-01-01 --to 2026-02-01 -o json | jq -r '.first, .last')" "${lines[1]}"$'\n'"${lines[2]}"
  same 'before 1970' '1969-12-31 23:59:59.999' "${lines[3]}"
}

@test "tags are added and listed" {
  in_php 0 '$store = Leaf\Store::open();
    $store->addTag("user", step: 10, start: 100, limit: 5000, description: "Füße");
    $store->addTag("user", step: 10, start: 100, limit: 5000, description: "Füße");
    foreach ($store->tags() as $t) echo "$t->name $t->description $t->nextId $t->step $t->start $t->limit ", json_encode($t->grantedMs), "\n";
    assert($store->tag("user")->updatedMs > 1.7e12);
    caught(fn () => $store->addTag("user", step: 11));'
  contains "$output" 'user Füße 100 10 100 5000 null'
  contains "$output" "Leaf\\Error 1 not again: tag 'user' exists"
  same 'one' 100 "$(leafctl next user)"
}

@test "each failure is an exception of its kind, with a hint" {
  leafctl -q add-tag few --limit 1
  mkdir -m 755 open
  in_php 0 '$a = Leaf\Allocator::open();
    caught(fn () => $a->tag("nope")->next());
    caught(fn () => $a->tag("no\nname"));
    caught(fn () => $a->tag("few")->take(2));
    caught(fn () => Leaf\Allocator::open(store: "sqlite:/nowhere/leaf.db", timeoutMs: -1)->tag("order")->next());
    caught(fn () => Leaf\Allocator::open(store: "postgresql://localhost:1/none", timeoutMs: -1)->tag("order")->next());
    caught(fn () => Leaf\Allocator::open(runtimeDir: getcwd() . "/open")->tag("order"));
    caught(fn () => Leaf\Generator::open(layout: "41,11,11"));
    caught(fn () => Leaf\Layout::parse("leef"));
    caught(fn () => Leaf\Layout::parse("leaf")->decode(-1));
    caught(fn () => Leaf\Layout::parse("leaf")->encode(0));
    caught(fn () => Leaf\Allocator::open(useHostDefaults: false));'
  contains "$output" "Leaf\\NotFoundError 4 not again: tag 'nope' does not exist"$'\nhint: create it'
  contains "$output" 'Leaf\UsageError 2 not again: '
  contains "$output" 'Leaf\ExhaustedError 6 not again: '
  contains "$output" 'Leaf\UnavailableError 3 again: '
  contains "$output" 'Leaf\RefusedError 5 not again: '
  lacks "$output" nothing
}

@test "what nobody catches is shown with its hint" {
  printf '<?php\nrequire "%s";\nLeaf\\Allocator::open()->tag("nope")->next();\n' "$LEAF_PHP" >program.php
  expect 255 php -d display_errors=stderr program.php
  contains "$stderr" "Uncaught Leaf\\NotFoundError: tag 'nope' does not exist"
  contains "$stderr" $'\nhint: create it'
}

@test "bad input is refused before C sees it, and closed handles say so" {
  in_php 0 '$a = Leaf\Allocator::open();
    $order = $a->tag("order");
    foreach ([0, -1, PHP_INT_MIN, 100_000_001] as $n) caught(fn () => $order->take($n));
    foreach ([0, -1, PHP_INT_MIN] as $n) caught(fn () => $order->range($n));
    caught(fn () => $a->tag("or\0der"));
    caught(fn () => Leaf\Allocator::open(store: "sqlite:\0"));
    caught(fn () => Leaf\Store::open()->addTag("x", description: "\0"));
    caught(fn () => serialize($order));
    try { $b = clone $a; echo "nothing\n"; } catch (Error $e) { echo "no clone\n"; }
    $a->close(); $a->close(); $order->close();
    caught(fn () => $order->next());
    caught(fn () => $order->take(1));
    caught(fn () => $a->tag("order"));
    caught(fn () => $a->store());
    $g = Leaf\Generator::open(); $g->close(); caught(fn () => $g->next());
    $l = Leaf\Layout::parse("leaf"); $l->close(); caught(fn () => $l->text());
    $s = Leaf\Store::open(); $s->close(); caught(fn () => $s->tags());
    try { $order->take("3"); } catch (TypeError) { echo "typed\n"; }'
  lacks "$output" nothing
  same 'refusals' 18 "$(grep -c '^Leaf.UsageError 2 ' <<<"$output")"
  contains "$output" 'Leaf\Tag is closed'
  contains "$output" 'no clone'
  contains "$output" typed
}

@test "in whatever order objects go, nothing is used after it was closed" {
  in_php 0 'function order() { return Leaf\Allocator::open()->tag("order"); }
    echo order()->next(), "\n";
    $tags = [];
    for ($i = 0; $i < 50; ++$i) { $a = Leaf\Allocator::open(); $tags[] = $a->tag("order"); $a->tag("other"); }
    foreach ($tags as $tag) $tag->next();
    $b = Leaf\Allocator::open(); $t = $b->tag("order"); $t->next(); $b->self = null ?? 1;' -d error_reporting=0
  same 'IDs' 1 "$output"
  # PHP destroys what is left in cycles in the order in which it was made.
  in_php 0 'final class Late {
        public array $tags = [];
        public ?Late $self = null;
        public function __destruct() { foreach ($this->tags as $tag) caught(fn () => $tag->next()); }
    }
    $a = Leaf\Allocator::open();
    $late = new Late();
    $late->tags = [$a->tag("order"), Leaf\Generator::open()];
    $a = null;
    $late->tags[] = Leaf\Allocator::open()->tag("order");
    $cycle = new ArrayObject([Leaf\Allocator::open()]);
    $cycle[] = $cycle[0]->tag("order");
    $cycle[] = $cycle;
    $cycle = null;
    gc_collect_cycles();
    $late->self = $late;
    $late = null;'
  same 'kinds' '' "$(grep -v '^nothing$\|is closed$' <<<"$output")"
  same 'calls' 3 "$(wc -l <<<"$output")"
}

@test "workers that a server forks go on with its handles: nothing twice, each in order" {
  leafctl -q tags update order --step 20
  in_php 0 '$order = Leaf\Allocator::open()->tag("order");
    $flakes = Leaf\Generator::open();
    file_put_contents("parent", $order->next() . "\n");
    $flakes->next();
    $children = [];
    for ($w = 0; $w < 6; ++$w) {
        if (($pid = pcntl_fork()) === 0) {
            $file = fopen("ids.$w", "w");
            $made = fopen("flakes.$w", "w");
            for ($i = 0; $i < 300; ++$i) {
                fwrite($file, $order->next() . "\n");
                fwrite($made, $flakes->next() . "\n");
            }
            exit(0);
        }
        $children[] = $pid;
    }
    foreach ($children as $pid) { pcntl_waitpid($pid, $status); assert($status === 0); }
    file_put_contents("last", $order->next() . "\n");'
  for file in ids.? flakes.?; do increasing "$file"; done
  all_different 1802 ids.? parent last
  all_different 1800 flakes.?
  same 'the last' "$(cat last)" "$(cat ids.? parent last | sort -n | tail -n 1)"
}

@test "a generator without the host's buffer says to a child that it is its parent's" {
  in_php 0 '$flakes = Leaf\Generator::open(hostBuffer: false);
    $flakes->next();
    if (($pid = pcntl_fork()) === 0) { caught(fn () => $flakes->next()); exit(0); }
    pcntl_waitpid($pid, $status);
    assert($flakes->next() > 0);'
  contains "$output" 'Leaf\Error 1 not again: the worker of this generator is held by the process that was forked'
  contains "$output" 'hint: open the generator after the fork'
}

@test "a server that preloads it draws, where FFI is for preloaded files alone" {
  command -v php-cgi >/dev/null || skip 'there is no php-cgi'
  serve() { expect 0 php-cgi -q -d ffi.enable=preload -d display_errors=0 "$@"; }
  printf '<?php\necho Leaf\\Allocator::open()->tag("order")->next(), "\\n";\n' >page.php
  serve -d "opcache.preload=$LEAF_PHP" -d "opcache.preload_user=$(id -un)" -d opcache.enable=1 page.php
  prints 1
  printf '<?php\nrequire "%s";\ntry { Leaf\\version(); } catch (Leaf\\Error $e) { echo $e->hint, "\\n"; }\n' "$LEAF_PHP" >page.php
  serve page.php
  prints "name leaf.php in 'opcache.preload'"
}

# get PAGE: what the server on $port answers.
get() {
  exec 7<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" >&7
  cat <&7
  exec 7>&-
}

@test "a request that ends in a fatal error leaves nothing open in its server" {
  local fatal='str_repeat("x", 99_999_999);' cases last drawing port
  cases=("$fatal" 'for ($all = [];;) $all[] = str_repeat("x", 10 + count($all) % 90);'
    'function f() { f(); } f();' 'trigger_error("enough", E_USER_ERROR);' 'trigger_error("Uncaught", E_USER_ERROR);'
    "register_shutdown_function(fn() => @unlink('/nonexistent')); $fatal"
    "register_shutdown_function(fn() => error_clear_last()); $fatal"
    "register_shutdown_function(fn() => exit()); $fatal"
    "register_shutdown_function(fn() => throw new Exception('late')); $fatal"
    'register_shutdown_function(function () { throw new Exception("late"); });' 'ob_start(fn() => undefined()); echo "x";'
    'ob_start(fn() => undefined()); echo "x"; ob_end_flush();')
  drawing=${#cases[@]}
  # A script's own buffers stay its own.
  cases+=("ob_start(); echo 'DRAWN 2'; register_shutdown_function(fn() => print(strtolower(ob_get_clean())));")
  cases+=("register_shutdown_function(fn() => print('drawn ' . \$tag->next() % 1000)); $fatal"
    "class Late { function __destruct() { global \$tag; echo 'drawn ', \$tag->next() % 1000; } }
     \$late = new Late(); throw new Exception('nobody');"
    "class Late { function __destruct() { global \$tag; echo 'drawn ', \$tag->next() % 1000; } }
     \$late = new Late(); register_shutdown_function(function () { while (ob_get_level() > 0) ob_end_flush(); });")
  for last in "${!cases[@]}"; do
    { printf '<?php\nrequire "%s";\n' "$LEAF_PHP"
      echo '$tag = Leaf\Allocator::open(hostBuffer: false)->tag("order"); $tag->next();
        $flakes = Leaf\Generator::open(); $flakes->next(); ini_set("memory_limit", "8M");'
      echo "${cases[last]}"; } >"page$last.php"
  done
  echo '<?php echo count(scandir("/proc/self/task")) - 2, " threads";' >threads.php
  for _ in {1..20}; do
    port=$((20000 + RANDOM % 10000))
    php -d ffi.enable=1 -d display_errors=0 -d log_errors=0 -S "127.0.0.1:$port" >server.log 2>&1 3>&- &
    server=$!
    eventually grep -qE 'started|Failed' server.log
    ! grep -q Failed server.log || continue
    break
  done
  same 'at first' '1 threads' "$(get threads.php | tail -n 1)"
  for last in "${!cases[@]}"; do
    get "page$last.php" >answer
    same "what is left after ${cases[last]}" '1 threads' "$(get threads.php | tail -n 1)"
    # What a script registers, and what is destroyed, still draws.
    [ "$last" -lt "$drawing" ] || contains "$(<answer)" 'drawn 2'
  done
}

@test "a library that is missing, disabled or another one is named" {
  in_php 0 'Leaf\Library::use("/nowhere/libleaf.so.0"); caught(fn () => Leaf\version());'
  contains "$output" "Leaf\\Error 1 not again: '/nowhere/libleaf.so.0' cannot be used"
  contains "$output" "hint: install the package 'libleaf0'"
  in_php 0 'caught(fn () => Leaf\version());' -d ffi.enable=false
  contains "$output" "hint: name leaf.php in 'opcache.preload'"
  for version in 0.0.9 1.0.0 0.1.0; do
    printf 'const char* leaf_version(void) { return "%s"; }\n' "$version" >other.c
    cc -shared -fPIC -o "other-$version.so" other.c
    in_php 0 "Leaf\\Library::use('./other-$version.so'); caught(fn () => Leaf\\version()); caught(fn () => Leaf\\Allocator::open());"
    contains "$output" "libleaf $version"
    lacks "$output" nothing
  done
  contains "$output" 'lacks what leaf.php calls'
  in_php 0 'Leaf\version(); caught(fn () => Leaf\Library::use("other"));'
  contains "$output" 'loaded already'
}

@test "what leaf.php declares is what leaf.h says" {
  # Words of a declaration, without comments, attributes and the names of enums, which are ints.
  declared() {
    sed -E 's,//.*,,; s/LEAF_API//; s/leaf_(status|choice) /int /' "$1" | tr '\n' ' ' | grep -oE '[^;{}]*\bleaf_[a-z_]+\([^;]*\);' |
      sed -E 's/[[:space:]]+/ /g; s/^ //' | LC_ALL=C sort
  }
  sed -n "/<<<'C'/,/^ *C;/p" "$LEAF_PHP" | sed '1d;$d' >php.h
  declared php.h >php.txt
  declared "${LEAF_PHP%/*}/../include/leaf/leaf.h" >c.txt
  [ "$(wc -l <php.txt)" -gt 25 ]
  same 'declarations that differ' '' "$(LC_ALL=C comm -23 php.txt c.txt)"
}
