#!/bin/sh
# SPDX-License-Identifier: MIT
# One training on many ranks over MPI, as mpirun starts them: the same bits on 1, 2 and 4 ranks, whatever is learned; single
# ranks killed, delayed, stopped by a scheduler; other numbers of ranks going on; what is refused, in one line. Each MPI whose
# mpirun and plugin are there is tried. LOCUS_CLUSTER=long (./dev test cluster): more kinds, 100 kills, ranks in two network
# namespaces; else a short form.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
. "$LOCUS_SOURCE/tests/cluster/wire.inc"

long=false
[ "${LOCUS_CLUSTER:-}" != long ] || long=true
plugins=$(dirname "$locus")
found=
for name in openmpi mpich; do
    if command -v "mpirun.$name" >/dev/null && [ -f "$plugins/locus-mpi-$name.so" ]; then found="$found $name"; fi
done
[ -n "$found" ] || { echo "no mpirun, or no plugin was built for it: install openmpi-bin and libopenmpi-dev"; exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # a container's root
# Nothing of this test's needs a network card; what MPI says of itself is not locus's.
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_rmaps_base_oversubscribe=1
export UCX_TLS=posix,sysv,self

# on RANKS COMMAND…: the job, in place of the (sub)shell.
on() {
    ranks=$1
    shift
    case $mpi in openmpi) exec mpirun.openmpi --oversubscribe -n "$ranks" "$@" ;; *) exec "mpirun.$mpi" -n "$ranks" "$@" ;; esac
}

# run FOLDER RANKS OPTION…: 0 ranks: without MPI.
run() {
    folder=$1 ranks=$2
    shift 2
    set -- "$locus" train --store "$folder/locus.db" --name run --threads 1 --shards 4 --seed 1 "$@"
    if [ "$ranks" = 0 ]; then exec "$@"; else on "$ranks" "$@"; fi
}

small='--dim 16 --heads 2 --feed-forward 32 --test-samples 40 --batch 16 --evaluate-every 10 --steps 25'
options() {
    case $1 in
    words) echo "--task reverse --encoding rope --length 8 --train-samples 120 --greedy-samples 20 --test-lengths 12 --dev-samples 40" ;;
    bf16) echo "$(options words) --precision bf16" ;;
    learned) echo "--task reverse --encoding algebraic(group=seq) --length 8 --train-samples 120 --greedy-samples 20 --dev-samples 40" ;;
    trees) echo "--task tree-ops --encoding algebraic(group=tree:2) --depth 3 --train-samples 120 --greedy-samples 20 --dev-samples 40" ;;
    problems) echo "--task addition --encoding rope --sequence 40 --greedy-samples 8 --dev-samples 40" ;;
    expressions) echo "--task listops --encoding t5 --train-samples 60 --dev-samples 40" ;;
    text) echo "--task text --encoding rope --data $work/text --sequence 32 --dev-samples 40" ;;
    images) echo "--task cifar10 --encoding algebraic(group=grid:2) --data $work/images --train-samples 45 --test-samples 30 --budget smoke" ;;
    esac
}

make_data() {
    i=0
    while [ "$i" -lt 4000 ]; do echo "line $i of a text that says $((i * i % 97)) and $((i * 7 % 31))"; i=$((i + 1)); done >plain.txt
    "$locus" data make text --train-text plain.txt -o text >out 2>&1 || fail "the text: $(cat out)"
    mkdir images
    for file in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
        count=9
        [ $file != test_batch ] || count=30
        i=0
        while [ "$i" -lt "$count" ]; do
            printf "\\00$((i % 8))"
            head -c 3072 "$locus" | tr "\\$((100 + i))" "\\$((150 + i))"
            i=$((i + 1))
        done >"images/$file.bin"
    done
}

# same FOLDER FOLDER: parameters byte for byte, metrics and scores.
same() {
    same_results "$1/locus.db" run "$2/locus.db" run
}

# The processes of a job's ranks: those of the program below its mpirun, at any depth.
ranks_of() {
    ps -e -o pid= -o ppid= -o comm= | awk -v root="$1" '
        { parent[$1] = $2; name[$1] = $3 }
        END { for (p in parent) { for (q = p; q in parent && q != root;) q = parent[q]; if (q == root && name[p] == "locus") print p } }' |
        sort -n
}

# ended JOB FOLDER: waits for a job whose ranks may be killed. A launcher that still stands a minute after its last rank is gone
# (Open MPI 4.1.4's has been seen to, in its own end) is ended, and told of: what is tested is the training.
ended() {
    idle=0
    while kill -0 "$1" 2>/dev/null; do
        if ps -e -o comm= -o args= | awk -v store="$2/locus.db" '$1 == "locus" && index($0, store) { found = 1 } END { exit !found }'; then
            idle=0
        else
            idle=$((idle + 1))
        fi
        if [ "$idle" -ge 600 ]; then
            echo "$mpi: the launcher stood still after its ranks were gone: ended"
            kill -KILL "$1" 2>/dev/null || true
        fi
        sleep 0.1
    done
    wait "$1"
}

# A number below $1.
random() {
    echo $(($(od -An -N4 -tu4 /dev/urandom) % $1))
}

# begun FOLDER: waits until the training has written a checkpoint, later than the file `mark`.
begun() {
    tries=0
    until [ -n "$(find "$1/run/last.safetensors" -newer mark 2>/dev/null)" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "$mpi: the training does not begin: $(cat err)"
        sleep 0.1
    done
}

one_line() {
    [ "$(grep -c '^locus: ' err)" = 1 ] || fail "$mpi: $1: not one line but: $(cat err)"
    grep -q "^locus: .*$2" err || fail "$mpi: $1 says: $(cat err)"
}

refused() {
    what=$1 pattern=$2
    shift 2
    if ("$@") >out 2>err </dev/null; then fail "$mpi: $what is not refused"; fi
    one_line "$what" "$pattern"
}

identical() {
    for kind in "$@"; do
        # shellcheck disable=SC2046,SC2086 # options, to be split
        (run "$kind" 0 $small $(options "$kind")) >out 2>err </dev/null || fail "$kind alone: $(cat err)"
        for count in 1 2 4; do
            # shellcheck disable=SC2046,SC2086
            (run "$mpi-$kind-$count" $count $small $(options "$kind")) >out 2>err </dev/null ||
                fail "$mpi: $kind on $count ranks: $(cat err)"
            [ "$(grep -c '^run' out)" = 1 ] || fail "$mpi: $kind on $count ranks is told other than once: $(cat out)"
            same "$kind" "$mpi-$kind-$count"
        done
    done
}

longer='--dim 32 --heads 2 --feed-forward 64 --dev-samples 40 --test-samples 40 --batch 16 --evaluate-every 20
    --task reverse --encoding algebraic(group=seq) --length 8 --train-samples 120 --greedy-samples 20 --checkpoint-seconds 0'

# A job on $count ranks, of which one is killed, or all are; 0 if it was over before. One in four is killed as it starts.
kill_once() {
    folder=$1
    touch mark
    # shellcheck disable=SC2086
    (run "$folder" "$count" $longer --steps "$2") >out 2>err </dev/null &
    job=$!
    if [ "$(random 4)" = 0 ]; then
        sleep "0.$(random 9)"
    else
        until [ -n "$(find "$folder/run/last.safetensors" -newer mark 2>/dev/null)" ] || ! kill -0 "$job" 2>/dev/null; do sleep 0.1; done
        sleep "0.$(random 5)"
    fi
    # shellcheck disable=SC2046
    set -- $(ranks_of "$job")
    if [ $# -gt 0 ] && [ "$(random 5)" = 0 ]; then
        kill -KILL "$@" 2>/dev/null || true
    elif [ $# -gt 0 ]; then
        shift "$(random $#)"
        kill -KILL "$1" 2>/dev/null || true
    fi
    ended "$job" "$folder"
}

# Whatever happens to it on the way, a training ends as one that was left alone: so many kills, in as many trainings as it takes.
kills() {
    wanted=$1 steps=$2 killed=0 trainings=0
    # shellcheck disable=SC2086
    (run whole 0 $longer --steps "$steps") >out 2>err </dev/null || fail "alone: $(cat err)"
    while [ "$killed" -lt "$wanted" ]; do
        trainings=$((trainings + 1)) count=4
        while [ "$killed" -lt "$wanted" ] && ! kill_once "$mpi-killed-$trainings" "$steps"; do
            killed=$((killed + 1))
            case $count in 4) count=2 ;; 2) count=1 ;; *) count=4 ;; esac
        done
        # shellcheck disable=SC2086
        (run "$mpi-killed-$trainings" 2 $longer --steps "$steps") >out 2>err </dev/null ||
            fail "$mpi: it does not go on after $killed kills: $(cat err)"
        same whole "$mpi-killed-$trainings"
        [ "$trainings" -lt 40 ] || fail "$mpi: only $killed kills in $trainings trainings"
    done
    echo "$mpi: $killed kills in $trainings trainings"
}

# 1 → 4 → 2 ranks, each stopped as schedulers do; one rank of the 4 is held for a second.
elastic() {
    folder=$mpi-elastic
    for count in 1 4 2; do
        touch mark
        # shellcheck disable=SC2086
        (run "$folder" $count $longer --steps 20000) >out 2>err </dev/null &
        job=$!
        begun "$folder"
        sleep 0.5
        if [ $count = 4 ]; then
            slow=$(ranks_of "$job" | tail -n 1)
            kill -STOP "$slow"
            sleep 1
            kill -CONT "$slow"
        fi
        # Any rank will do: the others are told. The last gets it by way of mpirun where that passes it on.
        signal=TERM target=$(ranks_of "$job" | head -n 1)
        if [ "$mpi" = openmpi ] && [ $count = 2 ]; then signal=USR1 target=$job; fi
        kill -$signal "$target"
        got=0
        wait "$job" || got=$?
        [ "$got" = 75 ] || fail "$mpi: SIG$signal on $count ranks ended with $got: $(cat err)"
        [ "$(grep -c '^locus: stopped after step' err)" = 1 ] || fail "$mpi: SIG$signal on $count ranks says: $(cat err)"
        [ "$("$locus" runs --store "$folder/locus.db" | grep -c stopped)" = 1 ] || fail "$mpi: the row does not say stopped"
    done
    done_steps=$("$locus" runs show run --store "$folder/locus.db" --json | sed -n 's/.*"steps_done":[^0-9]*\([0-9]*\).*/\1/p')
    [ "$done_steps" -gt 3 ] || fail "$mpi: only $done_steps steps were done"
}

# A launcher that leaves a dead rank's neighbours waiting: they find out by themselves.
unaided() {
    touch mark
    # shellcheck disable=SC2086
    (exec mpirun.openmpi --oversubscribe --enable-recovery -n 4 "$locus" train --store unaided/locus.db --name run --threads 1 \
        --shards 4 $longer --steps 20000) >out 2>err </dev/null &
    job=$!
    begun unaided
    kill -KILL "$(ranks_of "$job" | tail -n 1)"
    ended "$job" unaided || true
    grep -q '^locus: rank 3 died (process [0-9]*): the same command goes on' err || fail "rank 3 died unnoticed: $(cat err)"
}

refusals() {
    # shellcheck disable=SC2046,SC2086
    set -- $small $(options words)
    refused "3 ranks" "4 shards cannot be dealt to 3 ranks" run refused 3 "$@"
    refused "no shards" "2 ranks need a batch that is dealt to shards" run refused 2 "$@" --shards 1
    refused "3 shards" "a power of two is needed, not 3" run refused 2 "$@" --shards 3
    refused "a task that is not there" "unknown task 'revers'" on 2 "$locus" train --task revers --encoding rope
    refused "going on from a run" "a training on several ranks does not go on from another run; run it on one" \
        on 2 "$locus" train --continue nobody --steps 1 --store refused/locus.db
    refused "other options" "rank 1: was started with another seed than rank 0" \
        on 1 "$locus" train "$@" --shards 4 --store refused/locus.db : -n 1 "$locus" train "$@" --shards 4 --seed 7
    if [ "$(LOCUS_ISA=scalar "$locus" --version | grep -c 'kernels: scalar')" = 1 ]; then
        refused "other kernels" "rank 1: computes with scalar, rank 0 with" \
            on 1 "$locus" train "$@" --shards 4 --store refused/locus.db : \
            -n 1 env LOCUS_ISA=scalar "$locus" train "$@" --shards 4
    fi
    [ ! -d refused/run ] || fail "$mpi: what was refused left a folder"
    "$locus" path tree:2 1+2 >alone
    (on 3 "$locus" path tree:2 1+2) >out 2>err || fail "$mpi: a command alone: $(cat err)"
    one_line "a command alone" "path has nothing to share: the first of 3 ranks does it alone"
    cmp alone out || fail "$mpi: a command alone prints: $(cat out)"
    (LOCUS_MPI=none on 2 "$locus" path tree:2 1+2) >out 2>err || fail "$mpi: LOCUS_MPI=none: $(cat err)"
    [ "$(wc -l <out)" = $((2 * $(wc -l <alone))) ] || fail "$mpi: LOCUS_MPI=none prints: $(cat out)"
    refused "a plugin that is not there" "there is no plugin for it" \
        on 1 env LOCUS_MPI=othermpi "$locus" train "$@" --shards 4 : -n 1 env LOCUS_MPI=othermpi "$locus" train "$@" --shards 4
}

# Two jobs on one store: the same run is refused, another one is not.
crowded() {
    touch mark
    # shellcheck disable=SC2086
    (run "$mpi-crowded" 2 $longer --steps 20000) >out1 2>err1 </dev/null &
    job=$!
    begun "$mpi-crowded"
    # shellcheck disable=SC2086
    refused "a run that another job trains" "process [0-9]* is training this run already" run "$mpi-crowded" 2 $longer --steps 20000
    # shellcheck disable=SC2086
    (run "$mpi-crowded" 2 $longer --steps 20 --name other) >out 2>err </dev/null || fail "$mpi: another run on that store: $(cat err)"
    kill -TERM "$(ranks_of "$job" | head -n 1)"
    got=0
    wait "$job" || got=$?
    [ "$got" = 75 ] || fail "$mpi: the first job on a store ended with $got: $(cat err1)"
}

# A disk that is full: rank 0 says so, once; with room again the same command goes on. Other ranks write nothing.
full_disk() {
    mkdir -p "$mpi-full"
    mount -t tmpfs -o size=300k tmpfs "$mpi-full" 2>err || { echo "no small disk can be made here: not tried"; return; }
    trap 'umount "$work/$mpi-full"; rm -rf "$work"' EXIT
    # shellcheck disable=SC2086
    refused "a full disk" "No space left on device\|no space left for" run "$mpi-full" 2 $longer --steps 60
    mount -o remount,size=20m "$mpi-full"
    # shellcheck disable=SC2086
    (run "$mpi-full" 2 $longer --steps 60) >out 2>err </dev/null || fail "$mpi: after a full disk: $(cat err)"
    # shellcheck disable=SC2086
    (run whole60 0 $longer --steps 60) >out 2>err </dev/null || fail "alone: $(cat err)"
    same whole60 "$mpi-full"
    umount "$mpi-full"
    trap 'rm -rf "$work"' EXIT
}

# A cable between two spaces of network names: bytes cross a network.
namespaces() {
    trap 'wire_close; rm -rf "$work"' EXIT
    wire_open "$work"
    $wired || { echo "no network namespaces here ($refused): not tried"; return; }
    # shellcheck disable=SC2046,SC2086
    (wire_run "$work" "$locus" train --store wire/locus.db --name run --threads 1 --shards 4 --seed 1 $small $(options learned)) \
        >out 2>err </dev/null || fail "ranks in two namespaces: $(cat err)"
    [ -d learned ] || (run learned 0 $small $(options learned)) >out 2>err
    same learned wire
    crossed=$(wire_bytes)
    [ "$crossed" -gt 100000 ] || fail "only $crossed bytes crossed the network"
    echo "two namespaces: $crossed bytes crossed"
}

make_data
for mpi in ${LOCUS_CLUSTER_MPI:-$found}; do
    if $long; then
        identical words bf16 learned trees problems expressions images text
        kills 50 200
        elastic
        refusals
        crowded
        full_disk
        [ "$mpi" != openmpi ] || { unaided; namespaces; }
    else
        identical learned
        kills 2 100
        elastic
        refusals
    fi
    $long || break # in the short form one MPI will do
done
echo "ok ($found)"
