/// libleaf for C, and for every language that can call C: unique 64-bit IDs from the buffers of this host.
///
///     leaf_error* error = NULL;
///     leaf_allocator* allocator = leaf_allocator_open(NULL, &error);
///     leaf_tag* order = leaf_allocator_tag(allocator, "order", &error);
///     int64_t id;
///     if (leaf_tag_next(order, &id, &error) == LEAF_OK) printf("%" PRId64 "\n", id);
///
/// Every function that can fail takes a place for an error, or NULL. If it fails, it puts a new error there,
/// to be freed with leaf_error_free(), and returns its status, or NULL instead of a handle. If it succeeds,
/// it leaves the place alone. Functions that free or close accept NULL and then do nothing. All other
/// pointers must be valid; a handle must not be used while it is being closed or afterwards.
///
/// Texts are UTF-8 and end with a zero byte. Those that are returned belong to the handle or error that they
/// come from. Times are Unix milliseconds.
///
/// Thread safe: any number of threads may use one handle at once. No exception and no C++ type crosses the
/// interface. The library's own threads block all signals except faults, so a program's signal handlers run
/// only in the program's threads. They end when the handles are closed, or with the process: one whose main()
/// ends by pthread_exit(3) closes them before, or lives on. A thread that may be cancelled (pthread_cancel(3)) has to disable that
/// around its calls.
///
/// After fork() a child may go on with the handles that it inherits, whatever other threads did at the fork:
/// its first call connects again. So a server may open its handles before it forks its workers. There are three
/// exceptions. A child that is forked in a signal handler that interrupts a call must not use this library,
/// and that fork() may hang if another thread forks at the same moment. A handler of pthread_atfork(3) that was
/// registered before this library was loaded, as by dlopen(3), must not use it either. And a generator without
/// the host's buffer holds a worker of the parent's, so its calls fail in the child.
#ifndef LEAF_LEAF_H
#define LEAF_LEAF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAF_API __attribute__((visibility("default")))

// --- errors

/// The values are also the exit statuses of the command line.
typedef enum leaf_status {
  LEAF_OK = 0,
  LEAF_FAILED = 1,       ///< nothing below fits
  LEAF_USAGE = 2,        ///< an argument or the configuration is wrong; trying again cannot help
  LEAF_UNAVAILABLE = 3,  ///< the store is out of reach or did not answer in time; trying again may help
  LEAF_NOT_FOUND = 4,    ///< no such tag or worker
  LEAF_REFUSED = 5,      ///< refused because uniqueness could not be guaranteed
  LEAF_EXHAUSTED = 6     ///< no IDs are left: a tag's limit, the workers, the bits of a layout
} leaf_status;

typedef struct leaf_error leaf_error;

LEAF_API leaf_status leaf_error_status(const leaf_error* error);
/// One lower-case line without a final stop.
LEAF_API const char* leaf_error_text(const leaf_error* error);
/// What can be done about it, or an empty text.
LEAF_API const char* leaf_error_hint(const leaf_error* error);
/// Not 0 if the same call may succeed later without anybody changing anything.
LEAF_API int leaf_error_is_retryable(const leaf_error* error);
LEAF_API void leaf_error_free(leaf_error* error);

// --- options

/// A choice whose 0 is the default.
typedef enum leaf_choice { LEAF_DEFAULT = 0, LEAF_YES = 1, LEAF_NO = 2 } leaf_choice;

/// What to open. Fill it with zeros, set `size`, and then whatever should differ. What is left at 0 is as the
/// programs of this host, such as leafctl(1), have it: the environment and the configuration files of
/// leafctl.yaml(5) are read when a handle is opened, and at no other time; a setuid or setgid program is
/// refused them until it has given up its rights for good, as whoever starts it chooses the environment.
/// Without `use_host_defaults` none of these is read: `store` has to be set then, and buffers are the
/// process's own unless `runtime_dir` is set. In either case relative paths, and the variables that libpq
/// reads, mean what they meant when the handle was opened: once such a variable has changed, calls that would
/// connect fail. Timeouts, windows and limits on clocks are never read: they are the library's own.
typedef struct leaf_options {
  size_t size;              ///< sizeof(leaf_options), which tells versions of this header apart
  int use_host_defaults;    ///< a leaf_choice: LEAF_DEFAULT: yes
  int host_buffer;          ///< a leaf_choice: whether the processes of the host share what is buffered
  int group;                ///< a leaf_choice: whether the group of the folder shares it too
  const char* store;        ///< sqlite:PATH, what libpq takes, or a store's name in the configuration
  const char* runtime_dir;  ///< the folder of the host's buffers
  const char* config_file;  ///< in place of the user's
  const char* program;      ///< the program's name in the database; NULL: its short name
  int64_t timeout_ms;       ///< how long a call may wait, a day at most; 0: 5000; below 0: one attempt

  // Of generators alone. A worker that the configuration pins for its name is taken, and no other.
  const char*
      worker_name;     ///< stays the same over restarts; NULL: the configuration's, else this host's name
  const char* layout;  ///< that the deployment has to have; NULL: the configuration's, else whichever it has
} leaf_options;

// --- segments: dense IDs of a tag

typedef struct leaf_allocator leaf_allocator;
typedef struct leaf_tag leaf_tag;

/// The half-open range [lo, hi) of IDs.
typedef struct leaf_range {
  int64_t lo;
  int64_t hi;
} leaf_range;

/// Connects to nothing yet. `options` may be NULL, and need not outlive the call. Fails with LEAF_USAGE.
LEAF_API leaf_allocator* leaf_allocator_open(const leaf_options* options, leaf_error** error);
/// Waits for fetches under way, at most the timeout. Its tags have to be closed before.
LEAF_API void leaf_allocator_close(leaf_allocator* allocator);
/// The URL of the store, without a password.
LEAF_API const char* leaf_allocator_store(const leaf_allocator* allocator);

/// The handle of a tag; whether the tag exists is found out when an ID is drawn. Fails with LEAF_USAGE for a
/// name that no tag can have, and if the folder of the host's buffers cannot be used.
LEAF_API leaf_tag* leaf_allocator_tag(leaf_allocator* allocator, const char* name, leaf_error** error);
/// What is buffered stays. Of each tag a file is open until the allocator is closed, and up to 64 more: a
/// program of hundreds of tags raises its limit of open files, which often is 1,024.
LEAF_API void leaf_tag_close(leaf_tag* tag);

/// Puts the next ID into `id`: greater than any whose call returned before this one began, in all processes
/// that share the buffer. From memory while the buffer has IDs: without a lock or a system call (but getpid(2)
/// before Linux 4.14), but for the call that asks for the next segment, which wakes a thread or starts one. Fails
/// with LEAF_NOT_FOUND if the store has no such tag, LEAF_EXHAUSTED past its limit, LEAF_UNAVAILABLE if no
/// segment came in time, LEAF_REFUSED.
LEAF_API leaf_status leaf_tag_next(leaf_tag* tag, int64_t* id, leaf_error** error);
/// Not 0 if the next ID was in memory, and is now in `id`. If 0, `id` is left alone: call leaf_tag_next(),
/// which may wait. For threads that must not wait, such as an event loop's: it never waits for the store.
LEAF_API int leaf_tag_try_next(leaf_tag* tag, int64_t* id);
/// Puts one run of consecutive IDs into `range`, 1 to `at_most` of them; `at_most` is 1 or more.
LEAF_API leaf_status leaf_tag_next_range(leaf_tag* tag, uint64_t at_most, leaf_range* range,
                                         leaf_error** error);
/// Fills `ids` with `count` IDs in increasing order, which need not be consecutive. If it fails, what was
/// already drawn is lost.
LEAF_API leaf_status leaf_tag_fill(leaf_tag* tag, int64_t* ids, size_t count, leaf_error** error);

// --- tags and their counters

/// One store, for managing its tags. A call from another thread waits until the previous one has ended.
typedef struct leaf_store leaf_store;

/// The greatest ID.
#define LEAF_MAX_ID INT64_C(9223372036854775806)
/// The greatest step of a tag.
#define LEAF_MAX_STEP INT64_C(1000000)

/// A tag that is to be added. Fill it with zeros, set `size` and `name`; what is left at 0 takes its default.
typedef struct leaf_new_tag {
  size_t size;  ///< sizeof(leaf_new_tag)
  const char* name;
  const char* description;  ///< 256 characters at most
  int64_t step;             ///< IDs in a segment, LEAF_MAX_STEP at most; 0: 1000
  int64_t start;            ///< the first ID, 1 or more; 0: 1; LEAF_MAX_ID + 1: none is left
  int64_t limit;            ///< the last ID; 0: LEAF_MAX_ID
} leaf_new_tag;

/// A tag as the store has it. Later releases may add members.
typedef struct leaf_tag_info {
  const char* name;
  const char* description;  ///< empty if there is none
  int64_t next_id;     ///< the first ID that has not been granted to a host; past LEAF_MAX_ID if none is left
  int64_t step;        ///< IDs in a segment
  int64_t start;       ///< the first ID that it ever had; 1 where that is not known
  int64_t limit;       ///< the last ID that it may give
  int64_t updated_ms;  ///< when somebody added or changed it last
  int64_t granted_ms;  ///< the last grant; INT64_MIN if there was none
} leaf_tag_info;

typedef struct leaf_tag_list leaf_tag_list;

/// Connects to nothing yet. As leaf_allocator_open().
LEAF_API leaf_store* leaf_store_open(const leaf_options* options, leaf_error** error);
LEAF_API void leaf_store_close(leaf_store* store);
/// Adds a tag. One that exists with the same values is no error. Fails with LEAF_USAGE for values out of
/// bounds, LEAF_FAILED if the tag exists with other values or was removed after it had given out `start`,
/// LEAF_REFUSED if the store is known to have lost it.
LEAF_API leaf_status leaf_store_add_tag(leaf_store* store, const leaf_new_tag* tag, leaf_error** error);
/// The tag of that name. Fails with LEAF_NOT_FOUND.
LEAF_API leaf_tag_list* leaf_store_tag(leaf_store* store, const char* name, leaf_error** error);
/// All tags, by name.
LEAF_API leaf_tag_list* leaf_store_tags(leaf_store* store, leaf_error** error);

LEAF_API size_t leaf_tag_list_size(const leaf_tag_list* list);
/// The tag at `index`, below the size; it lives as long as its list.
LEAF_API const leaf_tag_info* leaf_tag_list_at(const leaf_tag_list* list, size_t index);
LEAF_API void leaf_tag_list_free(leaf_tag_list* list);

// --- snowflakes

typedef struct leaf_generator leaf_generator;

/// Leases a worker and its first window of time, or takes those that this host has buffered.
LEAF_API leaf_generator* leaf_generator_open(const leaf_options* options, leaf_error** error);
/// As leaf_generator_open(), but asks the store for nothing, and so does not wait: the first call that needs a
/// worker leases one, and fails as leaf_generator_open() would. For a program that reads its settings in a
/// thread that must not wait: it prepares there, and calls leaf_generator_worker() in another one. Fails with
/// LEAF_USAGE.
LEAF_API leaf_generator* leaf_generator_prepare(const leaf_options* options, leaf_error** error);
/// Gives back what no other process of the host uses, if the store can be reached.
LEAF_API void leaf_generator_close(leaf_generator* generator);

/// Puts the next ID into `id`, ordered like those of a tag if the layout's time comes first. Takes no lock
/// and makes no system call except to read the clock, to ask for the next window, and to sleep until the next
/// unit of time begins once all IDs of one are used. Fails with LEAF_REFUSED if the clock is behind the last
/// ID by more than two seconds, LEAF_EXHAUSTED, or LEAF_UNAVAILABLE if no window of time came.
LEAF_API leaf_status leaf_generator_next(leaf_generator* generator, int64_t* id, leaf_error** error);
/// As leaf_tag_try_next(). Only a thread that draws one ID after the other gets any; for others
/// leaf_generator_next() is just as quick.
LEAF_API int leaf_generator_try_next(leaf_generator* generator, int64_t* id);
/// Fills `ids` with `count` IDs in the order of leaf_generator_next(). Takes as long as the layout needs for
/// so many, 4,096 a millisecond by default. If it fails, what was already made is lost.
LEAF_API leaf_status leaf_generator_fill(leaf_generator* generator, int64_t* ids, size_t count,
                                         leaf_error** error);
/// The worker in use; while the host has no window, the last one that was.
LEAF_API leaf_status leaf_generator_worker(leaf_generator* generator, int64_t* worker, leaf_error** error);

// --- what is in a snowflake

typedef struct leaf_layout leaf_layout;

typedef struct leaf_decoded {
  int64_t unix_ms;   ///< when the unit of time began in which the ID was made
  int64_t worker;    ///< all worker fields as one number, the leftmost the most significant
  int64_t sequence;  ///< 0 without such a field
} leaf_decoded;

/// A known layout by name, such as leaf or twitter, or one by its bits, such as 41,10,12. Fails with
/// LEAF_USAGE.
LEAF_API leaf_layout* leaf_layout_parse(const char* text, leaf_error** error);
/// The layout of a generator's deployment.
LEAF_API leaf_layout* leaf_generator_layout(leaf_generator* generator, leaf_error** error);
LEAF_API void leaf_layout_free(leaf_layout* layout);
/// The form in which layouts are stored and compared.
LEAF_API const char* leaf_layout_text(const leaf_layout* layout);

/// Takes an ID apart. Fails with LEAF_USAGE if the layout cannot hold it.
LEAF_API leaf_status leaf_decode(const leaf_layout* layout, int64_t id, leaf_decoded* decoded,
                                 leaf_error** error);
/// Puts an ID together. Fails with LEAF_EXHAUSTED for a time that the layout has no bits for, LEAF_USAGE for
/// a worker or a sequence out of bounds.
LEAF_API leaf_status leaf_encode(const leaf_layout* layout, const leaf_decoded* decoded, int64_t* id,
                                 leaf_error** error);
/// The least and the greatest ID of the times in [from_ms, to_ms), both included.
LEAF_API leaf_status leaf_bounds(const leaf_layout* layout, int64_t from_ms, int64_t to_ms, int64_t* first,
                                 int64_t* last, leaf_error** error);

/// The version of the library, such as 0.1.0.
LEAF_API const char* leaf_version(void);

#ifdef __cplusplus
}
#endif

#endif
