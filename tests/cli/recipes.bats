# Each recipe of leafctl-recipes(7), taken out of the page and run.
load support
load host_support

setup() {
  new_store
  export HERE=$BATS_TEST_TMPDIR
  cd "$HERE"
}
teardown() { end_host_test; }

# recipe HEADING [N]: the N-th block under that heading, as a reader copies it.
recipe() {
  local block
  block=$(awk -v heading="$1" -v wanted="${2:-1}" '
    /^\.S[sh] / { is_there = substr($0, 5) == heading }
    is_there && /^\.Bd -literal/ { ++block; is_block = 1; next }
    /^\.Ed$/ { is_block = 0 }
    is_there && is_block && block == wanted { gsub(/\\e/, "\\"); print }' "$MANUAL/man7/leafctl-recipes.7")
  [ -n "$block" ] || { echo "no block ${2:-1} under '$1'"; return 1; }
  printf '%s\n' "$block"
}

# follow HEADING [N]: runs it as a shell script.
follow() { bash -euo pipefail -c "$(recipe "$@")"; }

need() {
  local program
  for program; do command -v "$program" >/dev/null || skip "there is no $program"; done
}

need_file() { [ "$TEST_STORE" = sqlite ] || skip 'is about a SQLite file'; }

# stand_in NAME SCRIPT: a program of that name.
stand_in() {
  mkdir -p "$HERE/bin"
  printf '#!/bin/bash\n%s\n' "$2" >"$HERE/bin/$1"
  chmod +x "$HERE/bin/$1"
  PATH=$HERE/bin:$PATH
}

# on_a_host SCRIPT: as root of a host whose /run, /srv and /var are empty and whose /etc is a copy. The recipes' functions
# are there.
on_a_host() {
  unshare --mount --uts bash -euc "$(declare -f recipe follow)
    unset \${!LEAFCTL_@} \${!XDG_@}
    for folder in /run /srv /var; do mount -t tmpfs -o mode=755 none \$folder; done
    mkdir -p /var/lib /var/backups /var/log /run/lock \"\$HERE/etc\"
    cp -a /etc/. \"\$HERE/etc\"
    mount --bind \"\$HERE/etc\" /etc
    $1"
}

need_host() {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  need_file
  unshare --mount --uts mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
  setpriv --reuid 65501 --clear-groups leafctl --version >/dev/null || skip 'other users cannot run the program'
}

@test "Draw and read IDs in PostgreSQL" {
  [ "$TEST_STORE" = postgresql ] || skip 'is about PostgreSQL'
  leafctl -q init-db
  leafctl -q add-tag order
  psql -qX -d "$test_database" -c 'CREATE ROLE shop'
  follow 'Draw and read IDs in PostgreSQL'
  recipe 'Draw and read IDs in PostgreSQL' 2 >orders.sql
  recipe 'Draw and read IDs in PostgreSQL' 3 >day.sql
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -c 'GRANT CREATE ON SCHEMA public TO shop' -c 'SET ROLE shop' \
    -f orders.sql
  same 'a day' 1001 "$(PGTZ=UTC psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -f day.sql | grep -c '|2022-06-28 00:00:00+00|0$')"
  same 'IDs' '1 1001 1001' "$(psql -qAtX -F ' ' -d "$test_database" -c 'SELECT min(id), max(id), count(*) FROM orders')"
  psql -qX -d "$test_database" -c 'DROP OWNED BY shop' -c 'DROP ROLE shop'
}

@test "the rows of a CSV file are numbered" {
  follow DESCRIPTION
  printf 'customer,total\nann,10\nbert,20\ncleo,30\n' >orders.csv
  follow 'Number the rows of a CSV file'
  same 'the rows' $'id,customer,total\n1,ann,10\n2,bert,20\n3,cleo,30' "$(cat numbered.csv)"
  printf 'customer,total\ndora,40\nemil,50' >orders.csv
  follow 'Number the rows of a CSV file'
  same 'the rows, where the last line has no end' $'id,customer,total\n4,dora,40\n5,emil,50' "$(cat numbered.csv)"
  rm numbered.csv
  LEAFCTL_STORE=sqlite:/nowhere/leaf.db expect 2 bash -c "$(recipe 'Number the rows of a CSV file')"
  [ ! -e numbered.csv ]
}

@test "the rows of a CSV file with newlines in it are numbered" {
  need python3
  follow DESCRIPTION
  recipe 'Number the rows of a CSV file' 2 >number.py
  printf 'customer,note\r\nann,"two\nlines"\r\nbert,"a ""b"", c"\r\n' | python3 number.py >numbered.csv
  same 'the rows' $'id,customer,note\r\n1,ann,"two\nlines"\r\n2,bert,"a ""b"", c"\r' "$(cat numbered.csv)"
}

@test "bash draws with its builtin" {
  [ -n "${BUILTIN:-}" ] || skip 'the builtin is not built'
  follow DESCRIPTION
  { recipe 'Bash and zsh, without a process' 1; recipe 'Bash and zsh, without a process' 2; } >script
  BASH_LOADABLES_PATH=${BUILTIN%/*} expect 0 bash -euo pipefail script
  prints '1 2 3 4 0'
}

@test "zsh draws with its module" {
  [ -n "${ZSH_MODULE:-}" ] || skip 'the module is not built'
  follow DESCRIPTION
  # shellcheck disable=SC2016 # zsh's own
  { echo 'module_path=("${ZSH_MODULE%/*}" $module_path)'
    recipe 'Bash and zsh, without a process' 3; recipe 'Bash and zsh, without a process' 2; } >script
  expect 0 zsh -feuo pipefail script
  prints '1 2 3 4 0'
}

@test "a program in Python draws in batches" {
  need python3
  follow DESCRIPTION
  recipe 'Python, Node.js and Go' 1 >program.py
  expect 0 python3 program.py
  prints '1 2'
  { cat program.py; echo 'print(*[next(orders) for _ in range(250)], sep="\n")'; } >more.py
  expect 0 python3 more.py
  same 'IDs' "$(echo '101 102'; seq 103 352)" "$output"
  LEAFCTL_STORE=sqlite:/nowhere/leaf.db expect 1 python3 program.py
  contains "$stderr" 'leafctl: '
}

@test "a program in Node.js draws in batches" {
  need node
  follow DESCRIPTION
  recipe 'Python, Node.js and Go' 2 >program.js
  expect 0 node program.js
  prints '1 2'
  { cat program.js; echo 'for (let i = 0; i < 250; ++i) console.log(String(orders.next().value));'; } >more.js
  expect 0 node more.js
  same 'IDs' "$(echo '101 102'; seq 103 352)" "$output"
  LEAFCTL_STORE=sqlite:/nowhere/leaf.db expect 1 node program.js
  contains "$stderr" 'leafctl: '
}

@test "a program in Go draws in batches" {
  need go
  follow DESCRIPTION
  recipe 'Python, Node.js and Go' 3 >program.go
  expect 0 go run program.go
  prints '1 2'
  LEAFCTL_STORE=sqlite:/nowhere/leaf.db expect 1 go run program.go
  contains "$stderr" 'leafctl: '
}

# run_as_cron: the job of crontab, as cron does: with its variables and the test's places alone, and a command that an
# unescaped % ends.
run_as_cron() {
  local variables command
  mapfile -t variables < <(grep -E '^[A-Z_]+=' crontab; env | grep -E '^(PG|LEAFCTL_RUNTIME_DIR=)')
  command=$(sed -n 's/^@daily //p' crontab | perl -pe 's/(?<!\\)%.*//; s/\\%/%/g')
  env -i HOME="$HOME" "${variables[@]}" /bin/sh -c "$command"
}

@test "a cron job draws an ID, and does nothing without one" {
  follow DESCRIPTION
  stand_in report 'echo "$@" >>"$HOME/reports"'
  recipe Cron >crontab
  contains "$(<crontab)" 'LEAFCTL_STORE=service=ids'
  sed -i "s|^PATH=|PATH=$PATH:|; s|service=ids|$LEAFCTL_STORE|" crontab
  expect 0 run_as_cron
  [[ $(cat "$HOME/reports") =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}-1$ ]]
  sed -i 's|^LEAFCTL_STORE=.*|LEAFCTL_STORE=sqlite:/nowhere/leaf.db|; s|=1m$|=0|' crontab
  expect 2 run_as_cron
  contains "$stderr" 'leafctl: '
  same 'reports' 1 "$(wc -l <"$HOME/reports")"
}

@test "systemd takes the unit" {
  need systemd-analyze
  recipe 'A systemd service' | sed 's,^\(Exec.*=\)[^ ]*,\1/bin/true,' >shop.service
  expect 0 systemd-analyze verify --man=no "$HERE/shop.service"
  # It only warns of what it does not know.
  lacks "$stderr" 'shop.service:'
}

@test "a service has its store and its buffers in the folders that its unit names, and needs the mode" {
  need_file
  recipe 'A systemd service' >unit
  value() { sed -n "s/^$1=//p" unit; }
  mkdir state run
  mkdir -m "$(value StateDirectoryMode)" "state/$(value StateDirectory)"
  mkdir -m "$(value RuntimeDirectoryMode)" "run/$(value RuntimeDirectory)"
  mapfile -t variables < <(value Environment | sed "s,%S,$HERE/state,; s,%t,$HERE/run,")
  as_service() { env -u LEAFCTL_STORE -u LEAFCTL_RUNTIME_DIR "${variables[@]}" "$@"; }
  start=$(value ExecStartPre)
  for _ in 1 2; do expect 0 as_service bash -c "leafctl ${start#*leafctl }"; done
  prints ''
  as_service leafctl -q add-tag order
  expect 0 as_service leafctl next order
  prints 1
  same 'the files' 1 "$(find "run/$(value RuntimeDirectory)" -name 'tag-*' | wc -l)"
  same 'the store' "state/$(value StateDirectory)/leaf.db" "$(find state -name leaf.db)"
  chmod 0755 "run/$(value RuntimeDirectory)"
  expect 5 as_service leafctl next order
  contains "$stderr" 'has mode 0755, not 0700'
}

# What the recipe needs of docker: each container has a host name, /run and /dev/shm of its own, and no variables.
containers='variables=(PATH="$PATH") folders=() user=0:0
  while [[ $2 == -* ]]; do
    case $2 in
      --rm) shift ;;
      -u) user=$3; shift 2 ;;
      -v) folders+=("$3"); shift 2 ;;
      -e) variables+=("$3"); shift 2 ;;
      *) echo "no option $2"; exit 2 ;;
    esac
  done
  shift 2
  export FOLDERS="${folders[*]}" NAME=container-$$
  exec unshare --mount --uts --ipc --pid --fork --mount-proc bash -euc '\''
    hostname "$NAME"
    mount -t tmpfs none /mnt
    mkdir /mnt/run
    for folder in $FOLDERS; do
      [[ $folder != /run/* ]] || { mkdir "/mnt${folder#*:}"; mount --bind "${folder%%:*}" "/mnt${folder#*:}"; }
    done
    mount --rbind /mnt/run /run
    mount -t tmpfs -o mode=1777 none /dev/shm
    exec "$@"'\'' bash setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups env -i "${variables[@]}" "$@"'

@test "containers that have one folder share a buffer and a worker, and others share nothing and repeat nothing" {
  need_host
  unshare --mount --uts --ipc --pid --fork --mount-proc true 2>/dev/null || skip 'needs namespaces'
  stand_in docker "$containers"
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 on_a_host '
    install -d -m 0700 -o 1000 -g 1000 /srv/ids
    follow Containers 1
    hostname this-host
    shared=$(recipe Containers 2)
    apart=$(sed "/run\/leafctl-1000/d; /WORKER_NAME/d" <<<"$shared")
    in_container() { bash -c "${1/leafctl next order/$2}"; }
    in_container "$shared" "leafctl -q init-db"
    in_container "$shared" "leafctl -q add-tag order"
    for containers in "$shared" "$apart"; do
      for _ in 1 2; do in_container "$containers" "leafctl next order"; done
    done
    for _ in 1 2; do in_container "$shared" "leafctl next --snowflake" >>snowflakes; done
    in_container "$shared" "leafctl workers list" | cut -f 1,2
    for _ in 1 2; do in_container "$apart" "leafctl next --snowflake" >>snowflakes; done
    in_container "$shared" "leafctl workers list" | wc -l
    for _ in 1 2; do in_container "$apart" "leafctl next --snowflake --release-on-exit" >>snowflakes; done
    in_container "$shared" "leafctl workers list" | grep -c held
    same_name=$(sed "/run\/leafctl-1000/d" <<<"$shared")
    for _ in 1 2; do in_container "$same_name" "leafctl next --snowflake" >>snowflakes; done
    in_container "$shared" "leafctl workers list" | cut -f 2 | grep -cx this-host'
  prints $'1\n2\n1001\n2001\n0\tthis-host\n3\n3\n3'
  all_different 8 snowflakes
}

@test "in a volume that is open to all, a folder holds the buffers and the volume itself does not" {
  follow DESCRIPTION
  mkdir volume
  chmod 0777 volume
  LEAFCTL_RUNTIME_DIR=$HERE/volume/buffers expect 0 leafctl next order
  prints 1
  LEAFCTL_RUNTIME_DIR=$HERE/volume expect 5 leafctl next order
  contains "$stderr" 'has mode 0777, not 0700'
}

@test "two users of a group share a store and a buffer, and nobody else does" {
  need_host
  need groupadd useradd usermod runuser systemd-tmpfiles
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 on_a_host '
    for user in alice bob carol; do useradd -M $user; done
    follow "Two users, one buffer" 1
    mkdir -p /etc/leafctl
    recipe "Two users, one buffer" 2 >/etc/leafctl/leafctl.yaml
    follow "Two users, one buffer" 3 2>/dev/null | cut -f 1,2
    ended=0
    runuser -u carol -- leafctl next order 2>/dev/null || ended=$?
    echo "carol $ended"'
  same 'IDs' '1 2' "$(grep -x '[0-9]*' <<<"$output" | xargs)"
  contains "$output" $'host_buffer\tok'
  # Its /var lies in memory.
  same 'what is not well' $'durability\twarning' "$(grep -E 'warning|failed' <<<"$output")"
  [[ $output =~ carol\ [1-9] ]]
}

@test "a restored store is raised to where this host knows it was" {
  need_host
  need sqlite3
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 on_a_host '
    follow DESCRIPTION >/dev/null
    leafctl next order --direct
    follow "Back up and restore" 1
    leafctl next order --direct -n 12000 | tail -n 1
    ended=0
    follow "Back up and restore" 2 >said || ended=$?
    echo "doctor $ended"
    raise=$(recipe "Back up and restore" 3 | head -n 1)
    grep -c "run .$raise" said
    follow "Back up and restore" 3 >/dev/null
    leafctl next order --direct'
  prints $'1\n12001\ndoctor 1\n1\n12002'
}

@test "a file moves with its folder, and what is buffered goes on within its file system" {
  need_host
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 on_a_host '
    follow DESCRIPTION >/dev/null
    leafctl next order
    bash -euc "$(recipe "Move a store" 1 | sed s,/srv,/var,)" >/dev/null
    leafctl --store sqlite:/var/leafctl/leaf.db next order
    mv /var/leafctl /var/lib
    follow "Move a store" 1 >/dev/null
    leafctl --store sqlite:/srv/leafctl/leaf.db next order'
  prints $'1\n2\n1001'
}

@test "tags move to another store, which repeats none of their IDs" {
  export OLD=sqlite:$HERE/old.db NEW=$LEAFCTL_STORE
  LEAFCTL_STORE=$OLD follow DESCRIPTION
  leafctl --store "$OLD" -q add-tag user --step 10 --limit 100000
  for tag in order user; do leafctl --store "$OLD" next $tag -n 5 >$tag; done
  leafctl --store "$OLD" next --snowflake >snowflakes
  follow 'Move a store' 2
  for tag in order user; do
    leafctl next $tag -n 5 >>$tag
    all_different 10 $tag
    increasing $tag
  done
  same 'step and limit' '10 100000' "$(leafctl tags list user -o json | jq -r '"\(.step) \(.limit)"')"
  expect 0 follow 'Move a store' 3
  [[ $output == 0$'\t'*$'\t'20* ]]
}

@test "doctor is a plugin, and the metrics that the alerts name are there" {
  follow DESCRIPTION
  leafctl next order >ids
  # A test's PostgreSQL may be one that does not write to its disk at once.
  run --separate-stderr follow Monitor 1
  [[ $status$output == 0LEAFCTL\ OK* || $status$output == 1LEAFCTL\ WARNING\ -\ durability* ]]
  export TEXTFILES=$HERE/textfiles
  mkdir "$TEXTFILES"
  follow Monitor 2
  same 'the files' leafctl.prom "$(ls "$TEXTFILES")"
  recipe Monitor 3 >rules.yml
  same 'alerts' 4 "$(grep -c 'expr:' rules.yml)"
  local metric
  for metric in $(grep -oE 'leafctl_[a-z_]+(\{[^}]*\})?' rules.yml | sort -u); do
    grep -qE "^${metric//[\{\}]/.}[ {]" "$TEXTFILES/leafctl.prom" || { echo "no metric $metric"; return 1; }
  done
}

@test "hosts are upgraded one by one, up to the first that is not well" {
  follow DESCRIPTION
  # shellcheck disable=SC2016 # the stand-ins' own
  {
    stand_in scp 'echo "scp $*" >>"$HERE/done"'
    stand_in ssh 'echo "ssh $1" >>"$HERE/done"; [ "$1" != "${SICK:-}" ] || LEAFCTL_STORE=sqlite:/nowhere/leaf.db; sh -c "$2"'
    stand_in apt-get 'echo "apt-get $*" >>"$HERE/done"'
    stand_in systemctl '[ "$*" = "-q is-failed leafctl*.service" ] && [ -n "${FAILED:-}" ]'
  }
  touch leafctl_2_amd64.deb leafctl-serve_2_amd64.deb python3-leaf_2_amd64.deb other.deb
  expect 0 follow 'Upgrade hosts one by one'
  same 'hosts' 'web-1 web-2 web-3' "$(sed -n 's/^ssh //p' done | xargs)"
  same 'files' 'scp ./leafctl-serve_2_amd64.deb ./leafctl_2_amd64.deb ./python3-leaf_2_amd64.deb web-1:' "$(head -n 1 done)"
  same 'packages' 'apt-get install -y -o APT::Get::Only-Upgrade=1 ./leafctl-serve_2_amd64.deb ./leafctl_2_amd64.deb ./python3-leaf_2_amd64.deb' "$(sed -n 3p done)"
  rm done
  SICK=web-2 expect 0 follow 'Upgrade hosts one by one'
  same 'hosts' 'web-1 web-2' "$(sed -n 's/^ssh //p' done | xargs)"
  rm done
  FAILED=yes expect 0 follow 'Upgrade hosts one by one'
  same 'hosts' 'web-1' "$(sed -n 's/^ssh //p' done | xargs)"
}
