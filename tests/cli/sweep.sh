#!/bin/sh
# SPDX-License-Identifier: MIT
# A comparison dealt to many machines, in short: the list of cells, some of them alone, the scripts, stores that are merged,
# what is refused. tests/cluster has the long form, with Slurm and GNU parallel.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
export LOCUS_THREADS=1 # other tests run beside it

# A comparison of four trainings that are over at once.
tiny="--task copy --encodings rope,algebraic(group=seq) --seeds 2 --dim 16 --heads 2 --layers 1 --feed-forward 16 --length 4
    --steps 6 --evaluate-every 2 --train-samples 16 --dev-samples 4 --test-samples 8 --greedy-samples 0 --batch 4"
compare() {
    # shellcheck disable=SC2086 # options, to be split
    "$locus" compare $tiny "$@"
}
# What differs between two trainings of the same numbers: seconds, speed, memory.
numbers() {
    "$locus" runs export --store "$1" --format csv -o exported.csv --quiet && [ -s exported.csv ] && sort exported.csv
}

# ---- list, only ----

compare --list >list || fail "--list: $?"
[ "$(wc -l <list)" = 5 ] && [ "$(grep -c 'not begun' list)" = 4 ] || fail "a list of 4 cells: $(cat list)"
grep -q '^   2  copy · algebraic · seed 0 .* copy-algebraic-custom-s0-' list || fail "number, label, name: $(cat list)"
compare --list --format csv >csv
[ "$(head -n 1 csv)" = "cell,training,encoding,state,name,task,seed,budget" ] || fail "CSV: $(cat csv)"
grep -q '^3,.*,copy-rope-custom-s1-[0-9a-f]*,copy,1,custom$' csv || fail "CSV: $(cat csv)"
compare --list --json | tr -d ' \t\n' >json
grep -q '"number":3,"name":"copy-rope-custom-s1-[0-9a-f]*","task":"copy","encoding":"rope","seed":1,"budget":"custom","state":' json ||
    fail "JSON: $(cat json)"
[ ! -e runs ] || fail "--list made a store"
name=$(sed -n 's/^3,.*,\(copy-rope-custom-s1-[0-9a-f]*\),.*/\1/p' csv)

compare --no-page >one.txt 2>err || fail "all on one machine: $(cat err)"
mv runs one
for cell in 1 2,4 "$name"; do
    compare --only "$cell" --store "parts/part-$cell.db" --quiet >out 2>err || fail "--only $cell: $(cat err)"
    [ ! -s out ] || fail "--only prints a table: $(cat out)"
done
[ "$("$locus" runs --store parts/part-2,4.db --format csv | wc -l)" = 3 ] || fail "--only 2,4 is not two trainings"
compare --only 1 --only 3 --list --store "parts/part-$name.db" >list
[ "$(wc -l <list)" = 3 ] && grep -q '^   3 .* done  ' list || fail "--only twice: $(cat list)"
find parts -name '*.html' | grep . && fail "--only writes a page"
refuses 2 "there is no training '5': they have the numbers 1 to 4" compare --only 5
refuses 2 "there is no training 'copy-rope': " compare --only copy-rope
refuses 2 "give one of them" compare --list --sbatch
refuses 2 "leave it out" compare --only 1 --sbatch
refuses 2 "would throw away what it has" compare --restart --parallel

# ---- scripts ----

compare --sbatch --threads 2 --jobs 4 --store stores/x.db >script || fail "--sbatch: $?"
sh -n script || fail "the Slurm script is none of a shell: $(cat script)"
grep -q '^#SBATCH --array=1-4$' script && grep -q '^#SBATCH --cpus-per-task=2$' script || fail "script: $(cat script)"
grep -qE "^parts='stores/compare-copy-[0-9a-f]{8}-parts'" script || fail "script: $(cat script)"
grep "^parts=" script >other
compare --seed 2 --sbatch --store stores/x.db >seeded && grep "^parts=" seeded >another || fail "--sbatch of other seeds"
! cmp -s other another || fail "other trainings of a task have the same folder of parts"
refuses 2 "braces, which GNU parallel takes" compare --parallel --store 'stores{#}/x.db'
grep -q "'rope,algebraic(group=seq)' .*--batch 4 --only \"\$task\" --store \"\$disk/part-\$task.db\"" script ||
    fail "a task's command: $(cat script)"
! grep -v '^#' script | grep -q -e '--jobs' -e 'x\.db' || fail "a task has options of the whole: $(cat script)"
compare --parallel --jobs 3 --json >line || fail "--parallel: $?"
[ "$(wc -l <line)" = 1 ] && grep -q '^parallel --quote --jobs 3 locus compare .* ::: 1 2 3 4 && locus runs import ' line ||
    fail "--parallel: $(cat line)"
"$locus" reproduce table2 --list --columns tree-c3-depth --seeds 1 --only 3 >list
[ "$(wc -l <list)" = 2 ] && grep -q '^   3  c3 depth · rope · seed 0' list || fail "reproduce --only: $(cat list)"
"$locus" reproduce table2 --sbatch >script && [ -s script ] && sh -n script || fail "reproduce --sbatch"

# Paths that a shell would take apart stand in quotes; what a script cannot show is refused.
"$locus" reproduce table2 --store "it's hëre/x.db" --sbatch >script || fail "a path with an apostrophe"
sh -n script && grep -q "^parts='.*it'\\\\''s hëre/" script && [ "$(grep -c -- --store script)" = "$("$locus" reproduce table2 --store plain/x.db --sbatch | grep -c -- --store)" ] ||
    fail "a path with an apostrophe: $(grep "^parts=" script)"
refuses 2 "characters that a script cannot show" "$locus" reproduce table2 --store "$(printf 'a\ntouch planted #/x.db')" --sbatch
refuses 2 "characters that a script cannot show" "$locus" reproduce table2 --store "$(printf 'a\377/x.db')" --parallel

# ---- import ----

"$locus" runs import parts/part-*.db --store merged/locus.db 2>err || fail "import: $(cat err)"
[ "$(head -n 1 err)" = "locus: parts/part-1.db: imported 1 run" ] || fail "import says: $(cat err)"
numbers one/locus.db >a && numbers merged/locus.db >b
cmp a b || fail "the merged store has other numbers: $(diff a b)"
compare --no-page --store merged/locus.db >two.txt 2>err || fail "the table of the merged store: $(cat err)"
[ "$(grep -c 'already done' err)" = 4 ] || fail "it was trained again: $(cat err)"
sed '/ never /d' one.txt >a && sed '/ never /d' two.txt >b # what it cost
cmp a b || fail "another table: $(diff one.txt two.txt)"
got=0
"$locus" eval 1 --store merged/locus.db >out 2>err || got=$?
[ "$got" = 1 ] && grep -q 'was imported' err || fail "eval without a checkpoint: $got, $(cat err)"
"$locus" runs import parts/part-*.db one/locus.db --store merged/locus.db --checkpoints 2>err || fail "again: $(cat err)"
[ "$(tail -n 1 err)" = "locus: one/locus.db: imported 0 runs; 4 there already" ] || fail "again: $(cat err)"
"$locus" eval 1 --store merged/locus.db >out || fail "a checkpoint that came"
"$locus" runs --store merged/locus.db --format csv | grep -q ',imported,' && fail "a run with its checkpoint is called imported"

# Trainings that are not finished: long enough that none ends between a look and the signal, a tenth of a second later.
# shellcheck disable=SC2086
"$locus" compare $tiny --steps 6000 --evaluate-every 100 --only 1 --store early/part.db --quiet 2>err &
process=$!
is_on() { [ -e early/copy-rope-*/lock ] && "$locus" runs --store early/part.db --format csv 2>/dev/null | grep -q ',[1-9][0-9]*/6000,'; }
until_so "it does not start" is_on
kill -TERM "$process"
got=0
wait "$process" || got=$?
[ "$got" = 75 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^locus: stopped; to go on: locus compare ' err ||
    fail "SIGTERM ended it with $got: $(cat err)"
"$locus" runs import early/part.db --store later/locus.db 2>err
[ "$(cat err)" = "locus: early/part.db: imported 0 runs; 1 not finished, left out (--checkpoints brings them)" ] ||
    fail "unfinished: $(cat err)"
"$locus" runs import early/part.db --store later/locus.db --checkpoints --quiet
compare --steps 6000 --evaluate-every 100 --only 1 --store later/locus.db 2>err || fail "it does not go on: $(cat err)"
compare --steps 6000 --evaluate-every 100 --only 1 --store whole/locus.db --quiet || fail "uninterrupted: $?"
numbers later/locus.db >a && numbers whole/locus.db >b
cmp a b || fail "going on elsewhere made other numbers: $(diff a b)"
cp -R early before
"$locus" runs import whole/locus.db --store early/part.db 2>err || fail "finished over unfinished: $(cat err)"
[ "$(cat err)" = "locus: whole/locus.db: imported 0 runs; 1 more of what was there unfinished" ] || fail "over: $(cat err)"
numbers early/part.db | cmp - a || fail "the finished run did not take the unfinished one's place"
[ ! -e early/copy-rope-*/best.safetensors ] && [ ! -e early/copy-rope-*/last.safetensors ] || fail "old files: $(ls early/*)"
"$locus" runs import before/part.db --store whole/locus.db --checkpoints 2>err || fail "unfinished over finished: $(cat err)"
[ "$(cat err)" = "locus: before/part.db: imported 0 runs; 1 there already" ] || fail "unfinished over finished: $(cat err)"
numbers whole/locus.db | cmp - a || fail "an unfinished run took a finished one's place"

# A published table, byte for byte: the recorded runs, dealt to stores of their own.
results=${LOCUS_SOURCE}/docs/results/table1-quick.json
table() {
    (cd "$1" && "$locus" reproduce table1 --budget quick --columns copy-scaled,reverse-unit --rows rope,relative --no-page --quiet >table) ||
        fail "the table of $1: $?"
}
mkdir all back
"$locus" runs import "$results" --store all/runs/locus.db --quiet
table all
"$locus" runs --store all/runs/locus.db --format csv | sed -n '2,$s/.*,//p' >names
for task in copy reverse; do
    cp all/runs/locus.db "part-$task.db"
    # shellcheck disable=SC2046 # names
    "$locus" runs delete $(grep -v "^$task-" names) --store "part-$task.db" --quiet
done
"$locus" runs import part-reverse.db part-copy.db --store back/runs/locus.db --quiet
table back
cmp all/table back/table && diff -r -q -x 'locus.db*' all/runs back/runs || fail "a merged store makes another table"

# ---- what is refused ----

before=$(numbers merged/locus.db | cksum)
refuses 1 "'merged/locus.db' is the store itself" "$locus" runs import merged/locus.db --store merged/locus.db
refuses 1 "'nowhere.db' is no run store" "$locus" runs import nowhere.db --store merged/locus.db
: >empty.db
refuses 1 "'empty.db' is no run store" "$locus" runs import empty.db --store merged/locus.db
head -c 5000 one/locus.db >cut.db
refuses 1 "the run store 'cut.db' is damaged" "$locus" runs import cut.db --store merged/locus.db
refuses 1 "'$results' has no checkpoints" "$locus" runs import "$results" --checkpoints --store merged/locus.db
cp one/locus.db edited.db
"${LOCUS_PYTHON:-python3}" - <<'END'
import shutil, sqlite3
for name, sql in (("edited.db", "UPDATE evaluation SET metrics = json_set(metrics, '$.\"dev.loss\"', 9.5) WHERE step = 4 AND run = 3"),
                  ("other.db", "CREATE TABLE t(x)"), ("newer.db", "PRAGMA user_version = 3")):
    if name != "other.db":
        shutil.copy("one/locus.db", name)
    database = sqlite3.connect(name)
    database.execute(sql)
    database.commit()
    database.close()
END
refuses 1 "its run '$name' and the store's run '$name' are the same training with other numbers (dev.loss, step 4)" \
    "$locus" runs import edited.db --store merged/locus.db
refuses 1 "'other.db' is a database, but no run store" "$locus" runs import other.db --store merged/locus.db
refuses 1 "'newer.db' has version 3" "$locus" runs import newer.db --store merged/locus.db
"$locus" runs rename "$name" copy-taken --store edited.db --quiet
"$locus" runs import edited.db --store named/locus.db --quiet # a name that another training has
cp parts/part-1.db another.db
"$locus" runs rename 1 copy-taken --store another.db --quiet
"$locus" runs delete 1 --store named/locus.db --quiet
refuses 1 "its run 'copy-taken' is another training than the store's run of that name" \
    "$locus" runs import another.db --store named/locus.db
[ "$(numbers merged/locus.db | cksum)" = "$before" ] || fail "something that was refused changed the store"

# A full disk, on which a profile of ./dev coverage would not fit either, and a run that somebody trains.
cp -R merged full
got=0
(ulimit -f 100 && LLVM_PROFILE_FILE=/dev/null "$locus" runs import all/runs/locus.db --store full/locus.db) >out 2>err || got=$?
[ "$got" = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "a file that may not grow: $got, $(cat err)"
[ "$(numbers full/locus.db | cksum)" = "$before" ] || fail "a full disk changed the store"
"$locus" runs import all/runs/locus.db --store full/locus.db --quiet || fail "after a full disk: $?"
[ "$("$locus" runs --store full/locus.db --format csv | wc -l)" = 89 ] || fail "after a full disk: $("$locus" runs --store full/locus.db)"

# ---- file systems that hosts share ----

cat >faked.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
static int faked(const char *call, const char *path, void *facts, long *type) {
    int (*real)(const char *, void *) = (int (*)(const char *, void *))dlsym(RTLD_NEXT, call);
    const char *number = getenv("FAKED");
    int status = real(path, facts);
    if (status == 0 && number && strstr(path, "shared"))
        *type = strtol(number, NULL, 16);
    return status;
}
int statfs(const char *path, struct statfs *facts) { return faked("statfs", path, facts, (long *)&facts->f_type); }
int statfs64(const char *path, struct statfs64 *facts) { return faked("statfs64", path, facts, (long *)&facts->f_type); }
END
if [ "$(uname -s)" = Linux ] && cc -shared -fPIC -o faked.so faked.c -ldl 2>cc.log; then
    cp -R one shared
    for kind in 6969:NFS 0BD00BD0:Lustre 47504653:GPFS FF534D42:SMB FE534D42:SMB; do
        shared() {
            FAKED=${kind%:*} LD_PRELOAD="$work/faked.so" "$locus" "$@"
        }
        refuses 1 "the run store 'shared/new/locus.db' lies on ${kind#*:}, and a store belongs to one host: name one on a disk" \
            shared compare --task copy --store shared/new/locus.db
        [ ! -e shared/new ] || fail "something was made on ${kind#*:}"
        shared runs --store shared/locus.db --format csv >a || fail "a store on ${kind#*:} cannot be read"
        [ "$(wc -l <a)" = 5 ] || fail "a store on ${kind#*:}: $(cat a)"
        shared runs import shared/locus.db --store local/locus.db --checkpoints --quiet || fail "import from ${kind#*:}"
    done
    [ "$(find shared -name 'locus.db-*')" = "" ] || fail "reading left something: $(ls shared)"
    FAKED=58465342 LD_PRELOAD="$work/faked.so" "$locus" runs note 1 'a local disk' --store shared/locus.db || fail "XFS"
else
    echo "no shared library could be made: file systems were not faked"
fi
echo "ok"
