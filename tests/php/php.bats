# leaf.php, by programs as its users write them.
# shellcheck disable=SC2016 # programs of PHP
load ../cli/support
load ../cli/host_support

setup() {
  command -v php >/dev/null || skip 'there is no php'
  new_order_store
}
teardown() { end_host_test; }

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
    echo (new Leaf\Decoded(-1))->time()->format("Y-m-d H:i:s.v"), "\n";'
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
