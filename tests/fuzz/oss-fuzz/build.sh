#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzz targets as OSS-Fuzz wants it: with $CC, $CXX, $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE as they are, and
# programs, corpora and dictionaries into $OUT. $WORK holds what is made on the way. It runs in the root of the source.
# Shared libraries that the runner's image may lack are laid beside the programs, which look for them there: by
# DT_RPATH, which holds for libraries of libraries too, as DT_RUNPATH does not. What an earlier build with another
# sanitizer left in $WORK goes, because cmake keeps the flags it was first called with.
source=$PWD
build=$WORK/locus

rm -rf "$build"
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DLOCUS_TESTS=OFF -DLOCUS_HARDEN=OFF \
    -DLOCUS_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DCMAKE_BUILD_RPATH="\$ORIGIN/lib" \
    -DCMAKE_EXE_LINKER_FLAGS="${LDFLAGS:-} -Wl,--disable-new-dtags"
ninja -C "$build" fuzz_targets

mkdir -p "$OUT/lib"
for program in "$build"/fuzz/fuzz_*; do
    name=$(basename "$program")
    thing=${name#fuzz_}
    cp "$program" "$OUT/$name"
    ldd "$program" | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
        case $library in
        */libc.so.* | */libm.so.* | */ld-linux* | */libpthread.so.* | */libdl.so.* | */librt.so.*) ;;
        *) cp -n "$library" "$OUT/lib/" ;;
        esac
    done
    (cd "$source/tests/fuzz/corpus/$thing" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    dictionary=$source/tests/fuzz/dictionaries/$thing.dict
    [ ! -f "$dictionary" ] || cp "$dictionary" "$OUT/$name.dict"
done
