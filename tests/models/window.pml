/* The windows of one worker, as the statements of lib/store/postgresql/sql.cpp lease them and
 * lib/snowflake/window_granter.cpp uses them. Clocks say anything, at any time: a host acquires the worker whenever it
 * likes, as after a clock that was wrong or a --force. Replies get lost, hosts stop in between, and what a host gives
 * up reaches the store late. Promised: no unit of time is used twice, and each lies in a window of its holder.
 *
 * controls: RENEW_FROM_NOW RECYCLE_GIVES_BACK ACQUIRE_FROM_NOW GIVE_UP_WITHOUT_TOKEN GIVE_UP_BELOW_BEGIN
 *
 * With TRACE it follows what the library did in a simulated history, where a host is a program: see replay.
 */
#ifdef TRACE
byte at;             /* events of the trace that have been followed */
#define OBSERVED(what) (KIND(at) == what && WHO(at) == _pid)
#else
#define HOSTS 2
#define ACTIONS 5    /* of each host */
#define TIME 6       /* the clock says less, and windows end before */
#define WINDOW 2
#endif

byte window_end;     /* the row of the worker */
byte token;          /* 0: free */
byte held_after;     /* where the window before the holder's ended */
byte tokens;
bool used[TIME];

inline any_time() {
#ifdef TRACE
  skip
#else
  if
  :: now = 0
  :: now = 1
  :: now = 3
  :: now = TIME - 1
  fi
#endif
}

/* The store's part: a window from `first` on, which is 0 where there is none. */
inline lease() {
#ifdef TRACE
  window_end = TO(at);
  at++
#else
  if
  :: first + WINDOW <= TIME -> window_end = (first + WINDOW > window_end -> first + WINDOW : window_end)
  :: else -> goto over
  fi
#endif
}

active [HOSTS] proctype host() {
  byte mine, cursor, end;      /* the window that it uses */
  byte ahead_from, ahead_to;   /* the one behind it; 0: none yet */
  byte now, first, to;
  bool has_drawn;              /* with the token that it has */
#ifndef TRACE
  byte actions = ACTIONS;
#endif

  do
#ifdef TRACE
  :: true ->
#else
  :: actions == 0 -> break
  :: else ->
     actions--;
#endif
     any_time();
     if
     :: mine == 0 ->                            /* acquire */
        atomic {
#ifdef TRACE
          OBSERVED(ACQUIRE) && FROM(at) >= window_end && TO(at) > FROM(at) -> first = FROM(at);
#else
#ifdef ACQUIRE_FROM_NOW
          first = now;
#else
          first = (now > window_end -> now : window_end);
#endif
#endif
          held_after = window_end;
          lease();
          tokens++;
          token = tokens;
          if
          :: mine = tokens; cursor = first; end = window_end
          :: skip                               /* the reply was lost */
          fi;
          first = 0
        }
     :: mine != 0 && cursor < end ->            /* draw, perhaps after the clock has dragged the cursor */
#ifdef TRACE
        atomic {
          OBSERVED(DRAW) && FROM(at) >= cursor && FROM(at) < end && !used[FROM(at)] ->
          cursor = FROM(at);
          at++;
          used[cursor] = true;
          has_drawn = true;
          cursor++
        }
#else
        if
        :: now > cursor && now < end -> cursor = now
        :: else
        fi;
        d_step {
          assert(!used[cursor]);
          used[cursor] = true;
          has_drawn = true;
          cursor++
        }
#endif
     :: mine != 0 && ahead_to != 0 ->           /* go on in the next one, whatever is left */
        d_step { cursor = ahead_from; end = ahead_to; ahead_from = 0; ahead_to = 0 }
     :: mine != 0 ->                            /* renew: behind the end that the host knows */
        to = (ahead_to != 0 -> ahead_to : end);
        atomic {
          if
          :: token != mine -> mine = 0          /* recycled: a new worker is asked for */
          :: token == mine ->
#ifdef TRACE
             OBSERVED(RENEW) && FROM(at) >= to && TO(at) >= window_end && TO(at) > FROM(at) -> first = FROM(at);
#else
#ifdef RENEW_FROM_NOW
             first = now;
#else
             first = (now > to -> now : to);
#endif
#endif
             lease();                           /* after a lost reply the same again, or more */
             if
             :: ahead_from = first; ahead_to = window_end
             :: skip                            /* the reply was lost */
             fi
          fi;
          first = 0;
          to = 0
        };
        if
        :: mine == 0 -> cursor = 0; end = 0; ahead_from = 0; ahead_to = 0; has_drawn = false
        :: else
        fi
     :: mine != 0 ->                            /* give up; it makes nothing any more */
        first = mine;
        to = (has_drawn -> cursor : 0);         /* or where it was with a worker before */
        mine = 0;
        has_drawn = false;
        atomic {
#ifdef TRACE
          if
          :: OBSERVED(GIVE_UP) && token == first && TO(at) <= window_end && TO(at) >= held_after && TO(at) >= to ->
             to = TO(at);
             at++
          :: token != first
          fi;
#endif
          if
#ifdef GIVE_UP_WITHOUT_TOKEN
          :: true ->
#else
          :: token == first ->
#endif
#ifndef GIVE_UP_BELOW_BEGIN
             to = (to > held_after -> to : held_after);
#else
             to = 0;
#endif
             window_end = (to < window_end -> to : window_end);
             token = 0
          :: else
          fi;
          first = 0;
          to = 0;
          cursor = 0; end = 0; ahead_from = 0; ahead_to = 0
        }
#ifndef TRACE
     :: atomic {                                /* an operator recycles it, whoever holds it */
          token = 0;
#ifdef RECYCLE_GIVES_BACK
          window_end = now
#endif
        }
#endif
     fi;
     now = 0
  od;
over:
  skip
}

#ifdef TRACE
active proctype operators() {
  do
  :: atomic { KIND(at) == RECYCLE -> token = 0; at++ }
  :: at == EVENTS -> assert(at != EVENTS)
  od
}
#endif
