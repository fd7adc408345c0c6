/* A tag's counter where a standby that lacks commits takes over, as leaf_alloc_guard of migrations/postgresql/ has it:
 * each row knows the server of its last change, and at the first change under another one leaves out what may have been
 * lost. Where a server took over with all commits, an operator may say so, as leaf_settle has it: a row whose last change
 * was on the server before goes on without the guard. Promised: no ID comes twice, as long as no more is lost than the
 * guard leaves out. Assumed: a standby that takes over has what the guard left out after the failover before. Of two
 * standbys of which the second knows nothing of the first, TWO_STANDBYS shows what can happen: there a random share, which
 * is not in this model, makes it unlikely.
 *
 * controls: NO_GUARD GUARD_OF_LESS SERVER_OF_THE_HOST TWO_STANDBYS WORD_OF_ALL_SERVERS
 *
 * With TRACE it follows what the library did in a simulated history, where the share may be any: see replay.
 */
#define LOST 2            /* grants that are lost at most */
#ifdef TRACE
#define HOSTS 1
#define COUNTER int
#define FIRST 1
byte at;                  /* events of the trace that have been followed */
#define GUARDED (next_id + (row_server != server -> GUARD : 0))
#define OBSERVED \
  (KIND(at) == GRANT && (row_server != server -> NUMBER(at) >= GUARDED : NUMBER(at) == GUARDED) && !given[RANK(at)])
#else
#define HOSTS 2
#define COUNTER byte
#define FIRST 0
#define IDS 11
#define FAILOVERS 2
#define OBSERVED true
#endif
#ifdef NO_GUARD
#define GUARD 0
#else
#ifdef GUARD_OF_LESS
#define GUARD (LOST - 1)
#else
#define GUARD LOST
#endif
#endif
#define UNKNOWN 255
#ifdef WORD_OF_ALL_SERVERS
#define IS_SPOKEN_OF true
#else
#define IS_SPOKEN_OF (row_server + 1 == server)
#endif

byte server;              /* whose commits count */
COUNTER next_id = FIRST;  /* the row: the counter, and the server of its last change */
byte row_server;
COUNTER standby_id = FIRST; /* the same as the standby has it, */
byte standby_server;
byte lag;                 /* so many grants behind */
byte failovers;
bool given[IDS];

active [HOSTS] proctype host() {
  COUNTER id;
  bool has_left_out;
#ifdef SERVER_OF_THE_HOST
  byte known = UNKNOWN;   /* a control: what a host has seen is no part of the row */
#endif
  do
  :: atomic {             /* a grant of one ID; whether its reply arrives makes no difference to the store */
       OBSERVED -> id = next_id;
#ifdef SERVER_OF_THE_HOST
       if
       :: known != server && known != UNKNOWN -> id = id + GUARD; known = server; has_left_out = true
       :: else -> known = server
       fi;
#else
       if
       :: row_server != server -> id = id + GUARD; has_left_out = true
       :: else
       fi;
#endif
#ifdef TRACE
       id = NUMBER(at);
#else
       if
       :: id >= IDS -> goto over
       :: else
       fi;
#endif
       next_id = id + 1;
       row_server = server;
#ifdef TRACE
       /* The standby has what it caught up with, and no more. */
#else
       if
#ifndef TWO_STANDBYS
       :: has_left_out -> standby_id = next_id; standby_server = row_server; lag = 0
#endif
#ifdef TWO_STANDBYS
       :: lag < LOST -> lag++
#else
       :: lag < LOST && !has_left_out -> lag++
#endif
       :: else -> standby_id = next_id; standby_server = row_server; lag = 0   /* it is never further behind */
       fi;
#endif
       has_left_out = false;
#ifdef TRACE
       given[RANK(at)] = IS_GIVEN(at);
       at++;
#else
       if
       :: assert(!given[id]); given[id] = true
       :: skip            /* the reply was lost */
       fi;
#endif
       id = 0
     }
  od;
over:
  skip
}

active proctype world() {
  bool is_whole;
  do
  :: atomic { standby_id = next_id; standby_server = row_server; lag = 0 }      /* it catches up */
  :: atomic {
#ifdef TRACE
       KIND(at) == FAILOVER && (LOSES(at) || (standby_id == next_id && standby_server == row_server)) -> at++;
#else
       failovers < FAILOVERS -> failovers++;
#endif
       is_whole = (standby_id == next_id && standby_server == row_server);
       server++;
       next_id = standby_id;
       row_server = standby_server;
       lag = 0;
#ifndef TRACE
       if
       :: is_whole && IS_SPOKEN_OF -> row_server = server
       :: true
       fi;
#endif
       is_whole = false
     }
#ifdef TRACE
  :: at == EVENTS -> assert(at != EVENTS)
#else
  :: break
#endif
  od
}
