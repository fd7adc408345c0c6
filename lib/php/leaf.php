<?php

/**
 * Unique 64-bit IDs from the buffers of this host: libleaf for PHP 8.1 and later, by FFI.
 *
 *     require 'leaf.php';
 *     $orders = Leaf\Allocator::open()->tag('order');
 *     echo $orders->next(), "\n";
 *
 * Everything goes by what leafctl(1) goes by on this host, the environment and leafctl.yaml(5), unless it is said
 * otherwise. Handles may be used on both sides of pcntl_fork(), but for a Generator without the host's buffer. Every failure is a Leaf\Error, by its kind.
 *
 * Where ffi.enable is "preload", as it is for web servers by default, name this file in opcache.preload.
 */

declare(strict_types=1);

namespace Leaf;

/** What went wrong. Its code is the exit status of leafctl: 1 failed, and those of the classes below. */
class Error extends \RuntimeException
{
    /** @param string $hint what can be done about it, or empty */
    public function __construct(string $message, int $code = 1, public readonly string $hint = '')
    {
        parent::__construct($message, $code);
    }

    /** True if the same call may succeed later without anybody changing anything. */
    public function isRetryable(): bool
    {
        return $this instanceof UnavailableError;
    }

    /** With the hint, also where PHP shows what nobody has caught. */
    public function __toString(): string
    {
        return parent::__toString() . ($this->hint === '' ? '' : "\nhint: $this->hint");
    }
}

/** An argument or the configuration is wrong. */
class UsageError extends Error {}
/** The store is out of reach or did not answer in time. */
class UnavailableError extends Error {}
/** No such tag or worker. */
class NotFoundError extends Error {}
/** Refused because uniqueness could not be vouched for. */
class RefusedError extends Error {}
/** No IDs are left: a tag's limit, the workers, the bits of a layout. */
class ExhaustedError extends Error {}

/** The version of libleaf, such as 0.1.0. */
function version(): string
{
    return Library::get()->leaf_version();
}

/** The shared library, loaded when it is first needed. */
final class Library
{
    private const NAME = 'libleaf.so.0';
    private const OLDEST = '0.1.0';
    private const KINDS = [
        2 => UsageError::class,
        3 => UnavailableError::class,
        4 => NotFoundError::class,
        5 => RefusedError::class,
        6 => ExhaustedError::class,
    ];
    private const DECLARATIONS = <<<'C'
        typedef struct leaf_error leaf_error;
        int leaf_error_status(const leaf_error* error);
        const char* leaf_error_text(const leaf_error* error);
        const char* leaf_error_hint(const leaf_error* error);
        void leaf_error_free(leaf_error* error);
        typedef struct leaf_options {
          size_t size;
          int use_host_defaults;
          int host_buffer;
          int group;
          const char* store;
          const char* runtime_dir;
          const char* config_file;
          const char* program;
          int64_t timeout_ms;
          const char* worker_name;
          const char* layout;
        } leaf_options;
        typedef struct leaf_allocator leaf_allocator;
        typedef struct leaf_tag leaf_tag;
        typedef struct leaf_range { int64_t lo; int64_t hi; } leaf_range;
        leaf_allocator* leaf_allocator_open(const leaf_options* options, leaf_error** error);
        void leaf_allocator_close(leaf_allocator* allocator);
        const char* leaf_allocator_store(const leaf_allocator* allocator);
        leaf_tag* leaf_allocator_tag(leaf_allocator* allocator, const char* name, leaf_error** error);
        void leaf_tag_close(leaf_tag* tag);
        int leaf_tag_next(leaf_tag* tag, int64_t* id, leaf_error** error);
        int leaf_tag_try_next(leaf_tag* tag, int64_t* id);
        int leaf_tag_next_range(leaf_tag* tag, uint64_t at_most, leaf_range* range, leaf_error** error);
        int leaf_tag_fill(leaf_tag* tag, int64_t* ids, size_t count, leaf_error** error);
        typedef struct leaf_store leaf_store;
        typedef struct leaf_new_tag {
          size_t size;
          const char* name;
          const char* description;
          int64_t step;
          int64_t start;
          int64_t limit;
        } leaf_new_tag;
        typedef struct leaf_tag_info {
          const char* name;
          const char* description;
          int64_t next_id;
          int64_t step;
          int64_t start;
          int64_t limit;
          int64_t updated_ms;
          int64_t granted_ms;
        } leaf_tag_info;
        typedef struct leaf_tag_list leaf_tag_list;
        leaf_store* leaf_store_open(const leaf_options* options, leaf_error** error);
        void leaf_store_close(leaf_store* store);
        int leaf_store_add_tag(leaf_store* store, const leaf_new_tag* tag, leaf_error** error);
        leaf_tag_list* leaf_store_tag(leaf_store* store, const char* name, leaf_error** error);
        leaf_tag_list* leaf_store_tags(leaf_store* store, leaf_error** error);
        size_t leaf_tag_list_size(const leaf_tag_list* list);
        const leaf_tag_info* leaf_tag_list_at(const leaf_tag_list* list, size_t index);
        void leaf_tag_list_free(leaf_tag_list* list);
        typedef struct leaf_generator leaf_generator;
        leaf_generator* leaf_generator_open(const leaf_options* options, leaf_error** error);
        void leaf_generator_close(leaf_generator* generator);
        int leaf_generator_next(leaf_generator* generator, int64_t* id, leaf_error** error);
        int leaf_generator_fill(leaf_generator* generator, int64_t* ids, size_t count, leaf_error** error);
        int leaf_generator_worker(leaf_generator* generator, int64_t* worker, leaf_error** error);
        typedef struct leaf_layout leaf_layout;
        typedef struct leaf_decoded { int64_t unix_ms; int64_t worker; int64_t sequence; } leaf_decoded;
        leaf_layout* leaf_layout_parse(const char* text, leaf_error** error);
        leaf_layout* leaf_generator_layout(leaf_generator* generator, leaf_error** error);
        void leaf_layout_free(leaf_layout* layout);
        const char* leaf_layout_text(const leaf_layout* layout);
        int leaf_decode(const leaf_layout* layout, int64_t id, leaf_decoded* decoded, leaf_error** error);
        int leaf_encode(const leaf_layout* layout, const leaf_decoded* decoded, int64_t* id, leaf_error** error);
        int leaf_bounds(const leaf_layout* layout, int64_t from_ms, int64_t to_ms, int64_t* first, int64_t* last,
                        leaf_error** error);
        const char* leaf_version(void);
        C;

    private static ?\FFI $ffi = null;
    private static ?string $path = null;

    /** Has another file loaded than the one that the system finds; before anything else is called. */
    public static function use(string $path): void
    {
        if (self::$ffi !== null) {
            throw new UsageError('libleaf is loaded already', 2);
        }
        self::$path = $path;
    }

    /** @internal */
    public static function get(): \FFI
    {
        return self::$ffi ??= self::load(self::$path ?? self::NAME);
    }

    private static function load(string $path): \FFI
    {
        if (PHP_INT_SIZE < 8) {
            throw new Error('IDs have 64 bits, and the integers of this PHP have fewer');
        }
        if (!extension_loaded('FFI')) {
            throw new Error('this PHP has no FFI', 1, "enable the extension 'ffi'");
        }
        try {
            $version = \FFI::cdef('const char* leaf_version(void);', $path)->leaf_version();
        } catch (\FFI\Exception $exception) {
            $isRestricted = str_contains($exception->getMessage(), 'ffi.enable');
            $hint = $isRestricted ? "name leaf.php in 'opcache.preload'" : "install the package 'libleaf0'";
            throw new Error("'$path' cannot be used: " . $exception->getMessage(), 1, $hint);
        }
        if (version_compare($version, self::OLDEST, '<') || (int) $version !== (int) self::OLDEST) {
            throw new Error("libleaf $version does not go with leaf.php, which is for " . self::OLDEST . ' and later');
        }
        try {
            return \FFI::cdef(self::DECLARATIONS, $path);
        } catch (\FFI\Exception $exception) {
            throw new Error(
                "libleaf $version lacks what leaf.php calls: " . $exception->getMessage(),
                1,
                'install the libleaf that came with leaf.php',
            );
        }
    }

    /** @internal Throws what a call has left in its place for an error, which is empty again then. */
    public static function fail(\FFI\CData $place): never
    {
        $ffi = self::get();
        $error = $place[0];
        $code = $ffi->leaf_error_status($error);
        $text = $ffi->leaf_error_text($error);
        $hint = $ffi->leaf_error_hint($error);
        $ffi->leaf_error_free($error);
        $place[0] = null;
        throw new (self::KINDS[$code] ?? Error::class)($text, $code, $hint);
    }

    /** @internal C's texts end at a zero byte. */
    public static function text(string $text): string
    {
        if (str_contains($text, "\0")) {
            throw new UsageError('a text has a zero byte in it', 2);
        }
        return $text;
    }

    /** @internal The text where a struct can point to it; it lives as long as what is returned. */
    public static function keep(string $text): \FFI\CData
    {
        $size = strlen(self::text($text)) + 1;
        $kept = self::get()->new("char[$size]");
        \FFI::memcpy($kept, "$text\0", $size);
        return $kept;
    }

    /** @internal How many IDs are asked for at once; as an array they take 16 bytes each. */
    public static function count(int $count): int
    {
        if ($count < 1 || $count > 100_000_000) {
            throw new UsageError("1 to 100000000 IDs can be taken at once, not $count", 2);
        }
        return $count;
    }
}

/** @internal What a struct leaf_options says. */
final class Options
{
    private const YES = 1;
    private const NO = 2;

    public readonly \FFI\CData $options;
    /** @var \FFI\CData[] */
    private array $kept = [];

    /** @param array<string, ?string> $texts by the name of the member */
    public function __construct(bool $useHostDefaults, ?bool $hostBuffer, ?bool $group, int $timeoutMs, array $texts)
    {
        $ffi = Library::get();
        $this->options = $ffi->new('leaf_options');
        $this->options->size = \FFI::sizeof($this->options);
        $this->options->use_host_defaults = $useHostDefaults ? self::YES : self::NO;
        $this->options->host_buffer = self::choice($hostBuffer);
        $this->options->group = self::choice($group);
        $this->options->timeout_ms = $timeoutMs;
        foreach ($texts as $member => $text) {
            if ($text !== null) {
                $this->kept[] = $kept = Library::keep($text);
                $this->options->$member = $ffi->cast('const char*', \FFI::addr($kept));
            }
        }
    }

    private static function choice(?bool $choice): int
    {
        return match ($choice) {
            null => 0,
            true => self::YES,
            false => self::NO,
        };
    }
}

/** @internal Where a call of the library puts what it gives back. */
final class Answer
{
    public readonly \FFI\CData $error;
    public readonly \FFI\CData $number;
    public readonly \FFI\CData $range;

    public function __construct(\FFI $ffi)
    {
        $this->error = $ffi->new('leaf_error*[1]');
        $this->number = $ffi->new('int64_t[2]');
        $this->range = $ffi->new('leaf_range[1]');
    }
}

/**
 * @internal A handle of the library, closed once nothing refers to it. A call keeps a reference of its own, since a
 * signal's handler that comes between two steps of it may close what it uses.
 */
final class Native
{
    private const CLOSING = [
        Allocator::class => 'leaf_allocator_close',
        Tag::class => 'leaf_tag_close',
        Generator::class => 'leaf_generator_close',
        Layout::class => 'leaf_layout_free',
        Store::class => 'leaf_store_close',
    ];

    /** @var ?\WeakMap<Native, true> all that are open */
    private static ?\WeakMap $open = null;

    /** Not set once it is closed. */
    public \FFI\CData $pointer;
    /** @var \WeakMap<Native, true> what has to be closed before */
    private readonly \WeakMap $parts;

    /** @param ?Native $whole what has to be closed after it */
    public function __construct(
        private readonly \FFI $ffi,
        private readonly string $class,
        \FFI\CData $pointer,
        private readonly ?Native $whole = null,
    ) {
        $this->parts = new \WeakMap();
        if ($whole !== null) {
            $whole->parts[$this] = true;
        }
        if (self::$open === null) {
            self::$open = new \WeakMap();
            FatalError::watch();
        }
        self::$open[$this] = true;
        $this->pointer = $pointer;
    }

    public function __destruct()
    {
        try {
            $this->close();
        } finally {
            $this->close();  // again, for a signal's handler may have thrown
        }
    }

    /** For what is read of a closed one. */
    public function __get(string $name): never
    {
        throw new UsageError("$this->class is closed", 2);
    }

    private function __clone() {}

    /** @internal What closes all that are open now, and keeps them until then. */
    public static function closeAll(): \Closure
    {
        $natives = [];
        foreach (self::$open ?? [] as $native => $_) {
            $natives[] = $native;
        }
        return static function () use ($natives): void {
            foreach ($natives as $native) {
                $native->close();
            }
        };
    }

    private function close(): void
    {
        // There are some only at the end of a script or in a cycle, where PHP destroys in no useful order.
        foreach ($this->parts as $part => $_) {
            $part->close();
        }
        if (isset($this->pointer)) {
            // No handler comes in between here: PHP calls them where functions begin and end, and at jumps.
            $pointer = $this->pointer;
            unset($this->pointer);
            $this->ffi->{self::CLOSING[$this->class]}($pointer);
        }
    }
}

/**
 * @internal After a fatal error PHP destroys none of the objects that there were, while the process of a web server goes
 * on. So the handles are closed by an object that is made after it, once the script's shutdown functions have run.
 */
final class FatalError
{
    private static ?self $before = null;
    private static ?self $after = null;
    /** For that, where a script has used all the memory that it may. */
    private static ?string $reserve = null;

    private function __construct(private readonly \Closure $end) {}

    public function __destruct()
    {
        ($this->end)();
    }

    public static function watch(): void
    {
        self::$reserve = str_repeat(' ', 0x10000);
        $destroys = false;
        self::$before = new self(static function () use (&$destroys): void {
            $destroys = true;
        });
        register_shutdown_function(static function () use (&$destroys): void {
            self::$reserve = null;
            self::$before = null;
            if (!$destroys) {
                self::$after = new self(Native::closeAll());
            }
        });
    }
}

/** @internal What a user has of a handle. */
abstract class Handle
{
    protected ?Native $native = null;
    protected readonly \FFI $ffi;
    /** For the next call, if the one before has been read. */
    protected ?Answer $spare = null;

    protected function __construct()
    {
        $this->ffi = Library::get();
    }

    /** Is called by itself when the last reference goes. A call that it interrupts goes on with what it had. */
    public function close(): void
    {
        try {
            $this->drop();
        } finally {
            $this->drop();  // again, for a signal's handler may have thrown
        }
    }

    protected function drop(): void
    {
        $this->native = null;
    }

    private function __clone() {}

    public function __serialize(): array
    {
        throw new UsageError(static::class . ' belongs to its process and cannot be serialized', 2);
    }

    protected function live(): Native
    {
        return $this->native ?? throw new UsageError(static::class . ' is closed', 2);
    }

    /** Nobody else's until it is read: a signal's handler may come before that, and call the same handle. */
    protected function answer(): Answer
    {
        $answer = $this->spare;
        $this->spare = null;
        return $answer ?? new Answer($this->ffi);
    }

    /** For what returns a handle. */
    protected function made(?\FFI\CData $pointer, Answer $answer): \FFI\CData
    {
        return $pointer ?? Library::fail($answer->error);
    }

    /** @return int[] */
    protected static function numbers(\FFI\CData $numbers, int $count): array
    {
        return array_values(unpack('q*', \FFI::string($numbers, 8 * $count)));
    }
}

/** Hands out the IDs of any number of tags. */
final class Allocator extends Handle
{
    /** @var \WeakMap<Tag, true> */
    private \WeakMap $tags;

    /**
     * Connects to nothing yet. What is null is what the programs of this host go by.
     *
     * @param ?string $store sqlite:PATH, what libpq takes, or a store's name in the configuration
     * @param int $timeoutMs how long a call may wait; 0: 5 seconds; below 0: one attempt
     */
    public static function open(
        ?string $store = null,
        ?string $runtimeDir = null,
        ?bool $hostBuffer = null,
        ?bool $group = null,
        ?string $configFile = null,
        int $timeoutMs = 0,
        bool $useHostDefaults = true,
    ): self {
        $options = new Options($useHostDefaults, $hostBuffer, $group, $timeoutMs, [
            'store' => $store, 'runtime_dir' => $runtimeDir, 'config_file' => $configFile,
        ]);
        $self = new self();
        $self->tags = new \WeakMap();
        $answer = $self->answer();
        $pointer = $self->ffi->leaf_allocator_open(\FFI::addr($options->options), $answer->error);
        $self->native = new Native($self->ffi, self::class, $self->made($pointer, $answer));
        return $self;
    }

    /** Whether the tag exists is found out when an ID is drawn. */
    public function tag(string $name): Tag
    {
        $native = $this->live();
        $text = Library::text($name);
        $answer = $this->answer();
        $pointer = $this->ffi->leaf_allocator_tag($native->pointer, $text, $answer->error);
        $tag = new Tag(new Native($this->ffi, Tag::class, $this->made($pointer, $answer), $native), $name);
        $this->tags[$tag] = true;
        if ($this->native === null) {  // closed meanwhile
            $tag->close();
        }
        return $tag;
    }

    /** The URL of the store, without a password. */
    public function store(): string
    {
        $native = $this->live();
        return $this->ffi->leaf_allocator_store($native->pointer);
    }

    /** Closes its tags too, and waits for fetches under way. */
    protected function drop(): void
    {
        $this->native = null;
        foreach ($this->tags as $tag => $_) {
            $tag->native = null;
        }
    }
}

/** Dense IDs of one tag. */
final class Tag extends Handle
{
    /** @internal as Allocator::tag() */
    public function __construct(Native $native, public readonly string $name)
    {
        parent::__construct();
        $this->native = $native;
    }

    /** The next ID: greater than any that was drawn before on this host. */
    public function next(): int
    {
        $native = $this->native ?? $this->live();
        $answer = $this->spare;  // as answer(), and a call less
        $this->spare = null;
        $answer ??= new Answer($this->ffi);
        if ($this->ffi->leaf_tag_next($native->pointer, $answer->number, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $id = $answer->number[0];
        $this->spare = $answer;
        return $id;
    }

    /** The next ID if it is buffered; null where next() would have to wait. */
    public function tryNext(): ?int
    {
        $native = $this->live();
        $answer = $this->answer();
        $id = $this->ffi->leaf_tag_try_next($native->pointer, $answer->number) !== 0 ? $answer->number[0] : null;
        $this->spare = $answer;
        return $id;
    }

    /**
     * So many IDs, in increasing order.
     *
     * @return int[]
     */
    public function take(int $count): array
    {
        $native = $this->live();
        $ids = $this->ffi->new('int64_t[' . Library::count($count) . ']');
        $answer = $this->answer();
        if ($this->ffi->leaf_tag_fill($native->pointer, $ids, $count, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $this->spare = $answer;
        return self::numbers($ids, $count);
    }

    /**
     * The first and the last of 1 to $atMost consecutive IDs.
     *
     * @return array{int, int}
     */
    public function range(int $atMost): array
    {
        $native = $this->live();
        $count = max($atMost, 0);
        $answer = $this->answer();
        if ($this->ffi->leaf_tag_next_range($native->pointer, $count, $answer->range, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $ends = [$answer->range[0]->lo, $answer->range[0]->hi - 1];
        $this->spare = $answer;
        return $ends;
    }
}

/** Makes snowflake IDs, with a worker that it leases from the store. */
final class Generator extends Handle
{
    /**
     * As Allocator::open().
     *
     * @param ?string $workerName stays the same over restarts
     * @param ?string $layout that the store has to have
     */
    public static function open(
        ?string $store = null,
        ?string $runtimeDir = null,
        ?bool $hostBuffer = null,
        ?bool $group = null,
        ?string $configFile = null,
        int $timeoutMs = 0,
        bool $useHostDefaults = true,
        ?string $workerName = null,
        ?string $layout = null,
    ): self {
        $options = new Options($useHostDefaults, $hostBuffer, $group, $timeoutMs, [
            'store' => $store, 'runtime_dir' => $runtimeDir, 'config_file' => $configFile,
            'worker_name' => $workerName, 'layout' => $layout,
        ]);
        $self = new self();
        $answer = $self->answer();
        $pointer = $self->ffi->leaf_generator_open(\FFI::addr($options->options), $answer->error);
        $self->native = new Native($self->ffi, self::class, $self->made($pointer, $answer));
        return $self;
    }

    /** The next ID: greater than any that was made before by this worker. */
    public function next(): int
    {
        $native = $this->native ?? $this->live();
        $answer = $this->spare;  // as answer(), and a call less
        $this->spare = null;
        $answer ??= new Answer($this->ffi);
        if ($this->ffi->leaf_generator_next($native->pointer, $answer->number, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $id = $answer->number[0];
        $this->spare = $answer;
        return $id;
    }

    /**
     * So many IDs, in increasing order.
     *
     * @return int[]
     */
    public function take(int $count): array
    {
        $native = $this->live();
        $ids = $this->ffi->new('int64_t[' . Library::count($count) . ']');
        $answer = $this->answer();
        if ($this->ffi->leaf_generator_fill($native->pointer, $ids, $count, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $this->spare = $answer;
        return self::numbers($ids, $count);
    }

    /** The worker in use. */
    public function worker(): int
    {
        $native = $this->live();
        $answer = $this->answer();
        if ($this->ffi->leaf_generator_worker($native->pointer, $answer->number, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $worker = $answer->number[0];
        $this->spare = $answer;
        return $worker;
    }

    /** That of the store. */
    public function layout(): Layout
    {
        $native = $this->live();
        $answer = $this->answer();
        $pointer = $this->ffi->leaf_generator_layout($native->pointer, $answer->error);
        return new Layout(new Native($this->ffi, Layout::class, $this->made($pointer, $answer)));
    }
}

/** What is in a snowflake ID. */
final class Decoded
{
    /**
     * @param int $unixMs when the unit of time began in which the ID was made
     * @param int $worker all worker fields as one number
     */
    public function __construct(
        public readonly int $unixMs,
        public readonly int $worker = 0,
        public readonly int $sequence = 0,
    ) {}

    /** In UTC. */
    public function time(): \DateTimeImmutable
    {
        // Rounded down, also before 1970.
        $ms = ($this->unixMs % 1000 + 1000) % 1000;
        $text = sprintf('%d.%03d', intdiv($this->unixMs - $ms, 1000), $ms);
        return \DateTimeImmutable::createFromFormat('U.v', $text, new \DateTimeZone('UTC'));
    }
}

/** How snowflake IDs are divided into fields. */
final class Layout extends Handle
{
    /** @internal as Layout::parse() or Generator::layout() */
    public function __construct(Native $native)
    {
        parent::__construct();
        $this->native = $native;
    }

    /** A known layout by name, such as leaf or twitter, or one by its bits, such as 41,10,12. */
    public static function parse(string $text): self
    {
        $ffi = Library::get();
        $error = $ffi->new('leaf_error*[1]');
        $pointer = $ffi->leaf_layout_parse(Library::text($text), $error) ?? Library::fail($error);
        return new self(new Native($ffi, self::class, $pointer));
    }

    /** The form in which layouts are stored and compared. */
    public function text(): string
    {
        $native = $this->live();
        return $this->ffi->leaf_layout_text($native->pointer);
    }

    public function decode(int $id): Decoded
    {
        $native = $this->live();
        $decoded = $this->ffi->new('leaf_decoded[1]');
        $answer = $this->answer();
        if ($this->ffi->leaf_decode($native->pointer, $id, $decoded, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $this->spare = $answer;
        return new Decoded($decoded[0]->unix_ms, $decoded[0]->worker, $decoded[0]->sequence);
    }

    /** @param \DateTimeInterface|int $time an int is in Unix milliseconds */
    public function encode(\DateTimeInterface|int $time, int $worker = 0, int $sequence = 0): int
    {
        $native = $this->live();
        $decoded = $this->ffi->new('leaf_decoded[1]');
        $decoded[0]->unix_ms = self::unixMs($time);
        $decoded[0]->worker = $worker;
        $decoded[0]->sequence = $sequence;
        $answer = $this->answer();
        if ($this->ffi->leaf_encode($native->pointer, $decoded, $answer->number, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $id = $answer->number[0];
        $this->spare = $answer;
        return $id;
    }

    /**
     * The least and the greatest ID of the times from $from on and before $to.
     *
     * @return array{int, int}
     */
    public function bounds(\DateTimeInterface|int $from, \DateTimeInterface|int $to): array
    {
        $native = $this->live();
        $fromMs = self::ceilMs($from);
        $toMs = self::ceilMs($to);
        $last = $this->ffi->new('int64_t[1]');
        $answer = $this->answer();
        if ($this->ffi->leaf_bounds($native->pointer, $fromMs, $toMs, $answer->number, $last, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
        $ends = [$answer->number[0], $last[0]];
        $this->spare = $answer;
        return $ends;
    }

    /** The first millisecond that does not begin before it. */
    private static function ceilMs(\DateTimeInterface|int $time): int
    {
        return is_int($time) ? $time : $time->getTimestamp() * 1000 + intdiv((int) $time->format('u') + 999, 1000);
    }

    private static function unixMs(\DateTimeInterface|int $time): int
    {
        return is_int($time) ? $time : $time->getTimestamp() * 1000 + (int) $time->format('v');
    }
}

/** A tag as the store has it. */
final class TagInfo
{
    /**
     * @param int $nextId the first ID that has not been granted to a host
     * @param ?int $grantedMs the last grant; null if there was none
     */
    public function __construct(
        public readonly string $name,
        public readonly string $description,
        public readonly int $nextId,
        public readonly int $step,
        public readonly int $start,
        public readonly int $limit,
        public readonly int $updatedMs,
        public readonly ?int $grantedMs,
    ) {}
}

/** One store, to look after its tags. */
final class Store extends Handle
{
    /** As Allocator::open(). */
    public static function open(
        ?string $store = null,
        ?string $runtimeDir = null,
        ?string $configFile = null,
        int $timeoutMs = 0,
        bool $useHostDefaults = true,
    ): self {
        $options = new Options($useHostDefaults, null, null, $timeoutMs, [
            'store' => $store, 'runtime_dir' => $runtimeDir, 'config_file' => $configFile,
        ]);
        $self = new self();
        $answer = $self->answer();
        $pointer = $self->ffi->leaf_store_open(\FFI::addr($options->options), $answer->error);
        $self->native = new Native($self->ffi, self::class, $self->made($pointer, $answer));
        return $self;
    }

    /** One that exists with the same values is no error. What is 0 takes its default. */
    public function addTag(string $name, int $step = 0, int $start = 0, int $limit = 0, string $description = ''): void
    {
        $native = $this->live();
        $tag = $this->ffi->new('leaf_new_tag');
        $keptName = Library::keep($name);
        $keptDescription = Library::keep($description);
        $tag->size = \FFI::sizeof($tag);
        $tag->name = $this->ffi->cast('const char*', \FFI::addr($keptName));
        $tag->description = $this->ffi->cast('const char*', \FFI::addr($keptDescription));
        $tag->step = $step;
        $tag->start = $start;
        $tag->limit = $limit;
        $added = \FFI::addr($tag);
        $answer = $this->answer();
        if ($this->ffi->leaf_store_add_tag($native->pointer, $added, $answer->error) !== 0) {
            Library::fail($answer->error);
        }
    }

    public function tag(string $name): TagInfo
    {
        $native = $this->live();
        $text = Library::text($name);
        $answer = $this->answer();
        return $this->listed($this->ffi->leaf_store_tag($native->pointer, $text, $answer->error), $answer)[0];
    }

    /**
     * All tags, by name.
     *
     * @return TagInfo[]
     */
    public function tags(): array
    {
        $native = $this->live();
        $answer = $this->answer();
        return $this->listed($this->ffi->leaf_store_tags($native->pointer, $answer->error), $answer);
    }

    /** @return TagInfo[] */
    private function listed(?\FFI\CData $list, Answer $answer): array
    {
        $tags = [];
        try {
            $this->made($list, $answer);
            for ($i = 0; $i < $this->ffi->leaf_tag_list_size($list); ++$i) {
                $tag = $this->ffi->leaf_tag_list_at($list, $i);
                $tags[] = new TagInfo(
                    \FFI::string($tag->name),
                    \FFI::string($tag->description),
                    $tag->next_id,
                    $tag->step,
                    $tag->start,
                    $tag->limit,
                    $tag->updated_ms,
                    $tag->granted_ms === PHP_INT_MIN ? null : $tag->granted_ms,
                );
            }
        } finally {
            $this->ffi->leaf_tag_list_free($list);
        }
        return $tags;
    }
}
