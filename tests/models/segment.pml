/* The IDs of a tag, from one host's buffer, as lib/range/double_buffer.cpp, lib/host/shared_ranges.cpp and
 * StateFile::take_from_holder() have it. Processes are stopped anywhere, for good too, and killed where it matters;
 * replies of the store get lost. Promised: no ID comes twice, each was granted, and none is lower than one that was
 * had before its call began.
 *
 * controls: SWAP_OFFSET_ALONE FETCH_ADD PUBLISH_FIRST CLOSE_BEFORE TURN_BEHIND_CHECK READ_THEN_WRITE LEFT_OPEN
 *
 * With TRACE it follows what the library did in a simulated history: see replay.
 */
#define SIZE 2       /* IDs that are granted at a time */
#ifndef TRACE
#define IDS 7        /* the store has no more than 1 to 6 */
#define FILES 2
#define PROCESSES 2
#define DRAWS 3      /* of each process */
#endif
#define CLOSED 255
#define NONE 255
#define NOBODY 0
#define ME (_pid + 1)

typedef Slot { byte lo; byte size; byte generation };
typedef File {
  byte generation;   /* these two are one word */
  byte offset;
  Slot slot[2];
  byte locked_by     /* NOBODY, or a process */
};

File file[FILES];
byte named = NONE;   /* the file that has the name */
byte leaving = NONE; /* the one that had it before, until it is closed */
byte files;
byte folder_locked_by;  /* to take a file from its holder */

byte next_id = 1;    /* the store's counter */
bool granted[IDS];
bool taken[IDS];
byte returned;       /* the highest ID of all calls that have ended */

#ifdef TRACE
byte at;             /* events of the trace that have been followed */
byte soon[3];        /* the programs of the next ones */
bool runs[PROCESSES];
byte floors[PROCESSES];

/* To try fewer runs: nobody does anything before its next event is near, unless others wait for what it has locked. */
#define HOLDS(which) (file[which].locked_by == ME)
#define IS_NEAR (soon[0] == _pid || soon[1] == _pid || soon[2] == _pid)
#define RUNS \
  provided (runs[_pid] && (IS_NEAR || HOLDS(0) || HOLDS(1) || HOLDS(2) || HOLDS(3) || folder_locked_by == ME))
#define OBSERVED(what, number) (KIND(at) == what && WHO(at) == _pid && NUMBER(at) == number)
#define OBSERVE NEXT_EVENT
#define NEXT_EVENT at++; soon[0] = WHO(at); soon[1] = WHO(at + 1); soon[2] = WHO(at + 2)
#else
#define RUNS
#define OBSERVED(what, number) true
#define OBSERVE skip
#endif

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

/* What its taker may have been stopped over, or killed. */
inline close_left() {
#ifndef LEFT_OPEN
  d_step {
    if
    :: leaving != NONE -> file[leaving].generation = file[leaving].generation + 3; file[leaving].offset = CLOSED
    :: else
    fi
  }
#else
  skip
#endif
}

active [PROCESSES] proctype process() RUNS {
  byte f = NONE, g, o, lo, size, id, floor, turn, first;
  byte draws = DRAWS;

call:
  if
  :: draws == 0 -> goto over
  :: else -> draws--
  fi;
  floor = returned;
  if
  :: atomic { f == NONE && named != NONE -> f = named }
  :: goto find                /* ahead, as the background does, or to make the first file */
  :: f != NONE
  fi;

take:
#ifdef TRACE
  if
  :: !DRAWS_ID(_pid) -> goto over      /* it was to fetch, and has done so */
  :: else
  fi;
#endif
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
  :: atomic { file[f].locked_by == NOBODY -> file[f].locked_by = ME }
  :: file[f].locked_by != NOBODY -> goto take
  :: atomic { file[f].locked_by != NOBODY && folder_locked_by == NOBODY && named == f -> folder_locked_by = ME };
     /* It has waited for long: the holder loses its file. */
     close_left();
     close();
     if
     :: skip
     :: folder_locked_by = NOBODY; goto over  /* killed */
     fi;
     atomic { named = NONE; leaving = f };
     if
     :: skip
     :: atomic { folder_locked_by = NOBODY; f = NONE; goto call }  /* killed; another one begins */
     fi;
#ifndef CLOSE_BEFORE
     close();
#endif
     leaving = NONE;
     folder_locked_by = NOBODY;
     goto find
  fi;

  /* It has the lock. Of a file that is new it makes sure that nothing comes from the one before. */
  if
  :: file[f].slot[0].generation == 0 && file[f].slot[1].generation == 0 -> close_left()
  :: else
  fi;
  if
  :: IS_PUBLISHED(file[f].generation + 1) -> file[f].locked_by = NOBODY; goto take
  :: else
  fi;
#ifndef TURN_BEHIND_CHECK
  turn = file[f].generation + 1;
#endif
  if
  :: named != f -> file[f].locked_by = NOBODY; goto find
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
    OBSERVED(GRANT, next_id) -> OBSERVE;
    first = next_id;
    if
    :: first + SIZE <= IDS ->
       granted[first] = true; granted[first + 1] = true; next_id = first + SIZE
    :: else -> first = 0
    fi
  };
#endif
  if
  :: first == 0 -> file[f].locked_by = NOBODY; goto over
  :: else
  fi;
  if
  :: skip
  :: goto ask                               /* the reply was lost */
  :: file[f].locked_by = NOBODY; goto over      /* killed */
  fi;
  if
  :: named != f -> file[f].locked_by = NOBODY; goto find
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
  :: file[f].locked_by = NOBODY; goto over      /* killed */
  fi;
  SLOT(turn).size = SIZE;
  if
  :: skip
  :: file[f].locked_by = NOBODY; goto over      /* killed */
  fi;
#ifndef PUBLISH_FIRST
  SLOT(turn).generation = turn;
#endif
  file[f].locked_by = NOBODY;
  goto take;

had:
  atomic {
    OBSERVED(DRAW, id) -> OBSERVE;
#ifdef TRACE
    floor = floors[_pid];
#endif
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

#ifdef TRACE
/* What the library did without a choice of its own: programs start, call, end and are killed, which frees their locks. */
active proctype library() {
  byte i;
  atomic { soon[0] = WHO(0); soon[1] = WHO(1); soon[2] = WHO(2) };
  do
  :: atomic { KIND(at) == START -> runs[WHO(at)] = true; NEXT_EVENT }
  :: atomic { KIND(at) == CALL -> floors[WHO(at)] = returned; NEXT_EVENT }
  :: atomic {
       KIND(at) == END ->
       runs[WHO(at)] = false;
       for (i : 0 .. FILES - 1) {
         if
         :: file[i].locked_by == WHO(at) + 1 -> file[i].locked_by = NOBODY
         :: else
         fi
       }
       i = 0;
       if
       :: folder_locked_by == WHO(at) + 1 -> folder_locked_by = NOBODY
       :: else
       fi;
       NEXT_EVENT
     }
  :: at == EVENTS -> assert(at != EVENTS)
  od
}
#endif
