#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the command of a clang-format 14: the system's, or the one that `./dev` fetched. Other versions lay out some
# places differently. Fails without a word if there is none.
set -eu
cd "$(dirname "$0")/.."
for formatter in clang-format-14 clang-format "$PWD/build/clang-format/clang-format"; do
    case $("$formatter" --version 2>/dev/null) in
    *"version 14."*)
        echo "$formatter"
        exit 0
        ;;
    esac
done
exit 1
