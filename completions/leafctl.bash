# bash completion for leafctl: 'leafctl complete' says what may stand at the cursor.
# shellcheck shell=bash

# Sets `words` to the words up to the cursor.
_leafctl_words() {
  local rest=${COMP_LINE:0:COMP_POINT} blank word
  words=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    blank=${rest%%[![:space:]]*}
    rest=${rest#"$blank"}
    word=${rest:0:${#word}}
    rest=${rest:${#word}}
    # Bash parts words at ':' and '=' too; without a blank in between they are one.
    if [ -n "$blank" ] || [ ${#words[@]} -eq 0 ]; then words+=("$word"); else words[-1]+=$word; fi
  done
}

_leafctl() {
  local words typed kept line word i
  _leafctl_words
  typed=${words[-1]}
  # Readline puts a reply behind the last character that parts words, or behind an opening quote.
  kept=${typed%"${typed##*["$COMP_WORDBREAKS"]}"}
  if [[ $typed == [\"\']* ]]; then
    typed=${typed:1}
    kept=
  fi
  words[-1]=$typed
  for ((i = 0; i < ${#words[@]} - 1; ++i)); do
    # Takes quotes off and expands nothing.
    [[ ${words[i]} != *[\"\'\\]* ]] || words[i]=$(xargs printf %s <<<"${words[i]}" 2>/dev/null)
  done

  COMPREPLY=()
  while IFS= read -r line; do
    word=${line%%$'\t'*}
    if [ -z "$word" ]; then
      compopt -o default
    elif [[ $word == "$typed"* ]]; then
      COMPREPLY+=("${word#"$kept"}")
    fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:/] ]]; then compopt -o nospace; fi
}

complete -F _leafctl leafctl
