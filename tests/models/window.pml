/* The windows of one worker, as the statements of lib/store/postgresql/sql.cpp lease them and
 * lib/snowflake/window_granter.cpp uses them. Clocks say anything, at any time: a host acquires the worker whenever it
 * likes, as after a clock that was wrong or a --force. Replies get lost, hosts stop in between, and what a host gives
 * up reaches the store late. Promised: no unit of time is used twice, and each lies in a window of its holder.
 *
 * controls: RENEW_FROM_NOW RECYCLE_GIVES_BACK ACQUIRE_FROM_NOW GIVE_UP_WITHOUT_TOKEN GIVE_UP_BELOW_BEGIN
 */
#define HOSTS 2
#define ACTIONS 4    /* of each host */
#define TIME 6       /* the clock says less, and windows end before */
#define WINDOW 2

byte window_end;     /* the row of the worker */
byte token;          /* 0: free */
byte held_from;      /* where the holder began */
byte tokens;
bool used[TIME];

inline any_time() {
  if
  :: now = 0
  :: now = 1
  :: now = 3
  :: now = TIME - 1
  fi
}

/* The store's part: a window from `first` on, which is 0 where there is none. */
inline lease() {
  if
  :: first + WINDOW <= TIME -> window_end = first + WINDOW
  :: else -> goto over
  fi
}

active [HOSTS] proctype host() {
  byte mine, begin, cursor, end, now, first, to;
  byte actions = ACTIONS;

  do
  :: actions == 0 -> break
  :: else ->
     actions--;
     any_time();
     if
     :: mine == 0 ->                            /* acquire */
        atomic {
#ifdef ACQUIRE_FROM_NOW
          first = now;
#else
          first = (now > window_end -> now : window_end);
#endif
          lease();
          tokens++;
          token = tokens;
          held_from = first;
          if
          :: mine = tokens; begin = first; cursor = first; end = first + WINDOW
          :: skip                               /* the reply was lost */
          fi
        }
     :: mine != 0 && cursor < end ->            /* draw, perhaps after the clock has dragged the cursor */
        if
        :: now > cursor && now < end -> cursor = now
        :: else
        fi;
        d_step {
          assert(!used[cursor]);
          used[cursor] = true;
          cursor++
        }
     :: mine != 0 ->                            /* renew: behind the end that the host knows */
        atomic {
          if
          :: token != mine -> mine = 0          /* recycled: a new worker is asked for */
          :: token == mine && window_end > end ->
             /* An earlier reply was lost: the same window again. */
             to = window_end;
             first = end
          :: token == mine && window_end <= end ->
#ifdef RENEW_FROM_NOW
             first = now;
#else
             first = (now > window_end -> now : window_end);
#endif
             lease();
             to = window_end
          fi;
          if
          :: mine != 0 -> cursor = first; end = to
          :: skip                               /* the reply was lost */
          fi;
          first = 0;
          to = 0
        }
     :: mine != 0 ->                            /* give up; it makes nothing any more */
        first = mine;
        to = cursor;
        mine = 0;
        atomic {
          if
#ifdef GIVE_UP_WITHOUT_TOKEN
          :: true ->
#else
          :: token == first ->
#endif
#ifndef GIVE_UP_BELOW_BEGIN
             to = (to > held_from -> to : held_from);
#else
             to = 0;
#endif
             window_end = to;
             token = 0
          :: else
          fi;
          first = 0;
          to = 0;
          begin = 0; cursor = 0; end = 0
        }
     :: atomic {                                /* an operator recycles it, whoever holds it */
          token = 0;
#ifdef RECYCLE_GIVES_BACK
          window_end = now
#endif
        }
     fi;
     now = 0
  od;
over:
  skip
}
