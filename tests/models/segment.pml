/* The IDs of a tag, from one host's buffer, as lib/range/double_buffer.cpp, lib/host/shared_ranges.cpp and
 * StateFile::take_from_holder() have it. Processes are stopped anywhere, for good too, and killed where it matters;
 * replies of the store get lost. Promised: no ID comes twice, each was granted, and none is lower than one that was
 * had before its call began.
 *
 * controls: SWAP_OFFSET_ALONE FETCH_ADD PUBLISH_FIRST CLOSE_BEFORE TURN_BEHIND_CHECK READ_THEN_WRITE
 */
#define SIZE 2       /* IDs that are granted at a time */
#define IDS 7        /* the store has no more than 1 to 6 */
#define FILES 2
#define PROCESSES 2
#define DRAWS 3      /* of each process */
#define CLOSED 255
#define NONE 255

typedef Slot { byte lo; byte size; byte generation };
typedef File {
  byte generation;   /* these two are one word */
  byte offset;
  Slot slot[2];
  bool locked
};

File file[FILES];
byte named = NONE;   /* the file that has the name */
byte files;
bool folder_locked;  /* by who takes a file from its holder */

byte next_id = 1;    /* the store's counter */
bool granted[IDS];
bool taken[IDS];
byte returned;       /* the highest ID of all calls that have ended */

#define SLOT(generation) file[f].slot[(generation) % 2]
#define IS_PUBLISHED(which) (SLOT(which).generation == (which))

inline claim(claimed) {
  id = claimed;
  assert(granted[id]);
  assert(!taken[id]);
  taken[id] = true
}

inline close() {
  d_step { file[f].generation = file[f].generation + 3; file[f].offset = CLOSED }
}

active [PROCESSES] proctype process() {
  byte f = NONE, g, o, lo, size, id, floor, turn, first;
  byte draws = DRAWS;

call:
  if
  :: draws == 0 -> goto over
  :: else -> draws--
  fi;
  floor = returned;
  if
  :: f == NONE -> goto find
  :: f != NONE -> goto find   /* ahead, as the background does */
  :: f != NONE
  fi;

take:
  atomic { g = file[f].generation; o = file[f].offset };
  size = SLOT(g).size;
  lo = SLOT(g).lo;
  if
  :: o != CLOSED && o < size ->
#ifdef FETCH_ADD
     d_step { o = file[f].offset; file[f].offset++ };
     if
     :: o < size -> d_step { claim(lo + o) }; goto had
     :: else -> goto take
     fi
#else
     atomic {
       if
#ifdef SWAP_OFFSET_ALONE
       :: file[f].offset == o ->
#else
       :: file[f].offset == o && file[f].generation == g ->
#endif
          file[f].offset = o + 1;
          claim(lo + o);
          goto had
       :: else -> goto take
       fi
     }
#endif
  :: else
  fi;
  if
  :: IS_PUBLISHED(g + 1) ->
     d_step {
       if
       :: file[f].generation == g && file[f].offset == o -> file[f].generation = g + 1; file[f].offset = 0
       :: else
       fi
     };
     goto take
  :: else
  fi;

find:
  atomic {
    g = 0; o = 0; lo = 0; size = 0; first = 0; turn = 0;  /* dead: fewer states */
    if
    :: named == NONE && files < FILES -> named = files; files++
    :: named == NONE && files == FILES -> goto over
    :: named != NONE
    fi;
    f = named
  };
  if
  :: atomic { !file[f].locked -> file[f].locked = true }
  :: file[f].locked -> goto take
  :: atomic { file[f].locked && !folder_locked && named == f -> folder_locked = true };
     /* It has waited for long: the holder loses its file. */
     close();
     if
     :: skip
     :: folder_locked = false; goto over  /* killed */
     fi;
     named = NONE;
#ifndef CLOSE_BEFORE
     close();
#endif
     folder_locked = false;
     goto find
  fi;

  /* It has the lock. */
  if
  :: IS_PUBLISHED(file[f].generation + 1) -> file[f].locked = false; goto take
  :: else
  fi;
#ifndef TURN_BEHIND_CHECK
  turn = file[f].generation + 1;
#endif
  if
  :: named != f -> file[f].locked = false; goto find
  :: else
  fi;

ask:
#ifdef READ_THEN_WRITE
  first = next_id;
  d_step {
    if
    :: first + SIZE <= IDS ->
       granted[first] = true; granted[first + 1] = true; next_id = first + SIZE
    :: else -> first = 0
    fi
  };
#else
  atomic {
    first = next_id;
    if
    :: first + SIZE <= IDS ->
       granted[first] = true; granted[first + 1] = true; next_id = first + SIZE
    :: else -> first = 0
    fi
  };
#endif
  if
  :: first == 0 -> file[f].locked = false; goto over
  :: else
  fi;
  if
  :: skip
  :: goto ask                               /* the reply was lost */
  :: file[f].locked = false; goto over      /* killed */
  fi;
  if
  :: named != f -> file[f].locked = false; goto find
  :: else
  fi;
#ifdef TURN_BEHIND_CHECK
  turn = file[f].generation + 1;
#endif

  do  /* publish() */
  :: d_step { g = file[f].generation; o = file[f].offset };
     if
     :: g + 2 == turn ->
        d_step {
          if
          :: file[f].generation == g && file[f].offset == o ->
             file[f].generation = turn - 1; file[f].offset = file[f].slot[(turn - 1) % 2].size
          :: else
          fi
        }
     :: else -> break
     fi
  od;
#ifdef PUBLISH_FIRST
  SLOT(turn).generation = turn;
#endif
  SLOT(turn).lo = first;
  if
  :: skip
  :: file[f].locked = false; goto over      /* killed */
  fi;
  SLOT(turn).size = SIZE;
  if
  :: skip
  :: file[f].locked = false; goto over      /* killed */
  fi;
#ifndef PUBLISH_FIRST
  SLOT(turn).generation = turn;
#endif
  file[f].locked = false;
  goto take;

had:
  atomic {
    assert(id > floor);
    if
    :: id > returned -> returned = id
    :: else
    fi;
    g = 0; o = 0; lo = 0; size = 0; first = 0; turn = 0; id = 0; floor = 0
  };
  goto call;

over:
  skip
}
