#!/bin/sh
# SPDX-License-Identifier: MIT
# The version is written once, in the public header; whatever repeats it, or is made of it, says the same: CMake, the
# Python package, the manual page, the Debian packages and the library's name in them, the changelog, the program.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
status=0
complain() { echo "$*"; status=1; }

header=include/locus/version.h
version=$(sed -n 's/^#define LOCUS_VERSION_TEXT "\(.*\)"$/\1/p' "$header")
part() { sed -n "s/^#define LOCUS_VERSION_$1 //p" "$header"; }
[ "$version" = "$(part MAJOR).$(part MINOR).$(part PATCH)" ] || complain "$header: the text '$version' is not its numbers"
interface=${version%.*}

grep -q 'file(STRINGS include/locus/version.h' CMakeLists.txt || complain "CMakeLists.txt does not read $header"
grep -q "^input = \"$header\"" pyproject.toml || complain "pyproject.toml does not read $header"
! grep -q '^version = ' pyproject.toml || complain "pyproject.toml has a version of its own"
grep -q "^\.TH LOCUS 1 \"\" \"locus $version\"" man/locus.1 || complain "man/locus.1 is of another version than $version"
released=$(sed -n "s/^## \[$version\] - \([0-9-]*\)$/\1/p" CHANGELOG.md)
[ -n "$released" ] || grep -q '^## \[Unreleased\]' CHANGELOG.md || complain "CHANGELOG.md has no section [$version] or [Unreleased]"
# Archives of the source leave debian/ to the packages.
if [ -d debian ]; then
    [ "$(sed -n '1s/^locus (\(.*\)-[0-9]*) .*/\1/p' debian/changelog)" = "$version" ] ||
        complain "debian/changelog begins with another version than $version"
    packaged=$(sed -n 's/^ -- .*>  //p' debian/changelog | head -1)
    [ -z "$released" ] || [ "$(LC_ALL=C date -ud "$packaged" +%F)" = "$released" ] ||
        complain "debian/changelog has another day than CHANGELOG.md, $released"
    grep -q "^Package: liblocus$interface\$" debian/control || complain "debian/control has no package liblocus$interface"
    grep -q "liblocus$interface (= " debian/control || complain "debian/control: liblocus-dev needs liblocus$interface"
    [ -f "debian/liblocus$interface.install" ] || complain "there is no debian/liblocus$interface.install"
fi
if [ -x "${LOCUS:-}" ]; then
    said=$("$LOCUS" --version | sed -n '1s/^locus \([^ ]*\).*/\1/p')
    [ "$said" = "$version" ] || complain "the program says that it is version '$said', not $version"
fi
exit $status
