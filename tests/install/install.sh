#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a fresh prefix and uses what lies there as a stranger would: a C and a C++ program through pkg-config
# (shared and static) and through CMake's find_package, the program, and what belongs beside it.
set -eu
source=${LOCUS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${LOCUS_BUILD:-$source/build/release}
version=${LOCUS_VERSION:-$(sed -n 's/^#define LOCUS_VERSION_TEXT "\(.*\)"$/\1/p' "$source/include/locus/version.h")}

# A sanitized library cannot be used by a plain program.
! grep -q '^LOCUS_SANITIZE:STRING=.' "$build/CMakeCache.txt" || exit 77
for tool in cc c++ cmake ninja pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/usr

fail() {
    echo "$*"
    exit 1
}

# says WANTED COMMAND…: the command succeeds and prints exactly that.
says() {
    wanted=$1
    shift
    got=$("$@") || fail "$* failed"
    [ "$got" = "$wanted" ] || fail "$* printed '$got' instead of '$wanted'"
}

cmake --install "$build" --prefix "$prefix" >/dev/null
lib=$(dirname "$(find "$prefix" -name liblocus.a)")
for name in "liblocus.so.${version%.*}" liblocus.so; do
    [ "$(basename "$(readlink -f "$lib/$name")")" = "liblocus.so.$version" ] || fail "$name does not lead to version $version"
done

# Headers: all of them, and nothing else.
for header in "$source"/include/locus/*.h; do
    cmp "$header" "$prefix/include/locus/${header##*/}"
done
[ "$(find "$prefix/include" -type f | wc -l)" = "$(find "$source/include" -name '*.h' | wc -l)" ] || fail "surplus headers"

# Nothing installed knows where it was built.
for text in "$lib"/cmake/locus/*.cmake "$lib"/pkgconfig/locus.pc; do
    ! grep -F -e "$source" -e "$build" -e "$prefix" "$text" || fail "$text names a folder of this machine"
done

# pkg-config
export PKG_CONFIG_PATH="$lib/pkgconfig"
says "$version" pkg-config --modversion locus
shared=$(pkg-config --cflags --libs locus)
static=$(pkg-config --static --cflags --libs locus | sed 's/-llocus/-l:liblocus.a/')
cp "$source/tests/install/install_consumer.c" "$work/consumer.c"
cp "$source/tests/install/install_consumer.c" "$work/consumer.cpp"
cd "$work"
warnings="-Wall -Wextra -Werror -Wno-missing-field-initializers"
# shellcheck disable=SC2086 # flags, to be split
{
    cc -std=c11 -Wpedantic $warnings consumer.c $shared -lm -o c_shared
    cc -std=c11 -Wpedantic $warnings consumer.c $static -lm -o c_static
    c++ -std=c++11 $warnings consumer.cpp $shared -o cpp_shared
    c++ -std=c++11 $warnings consumer.cpp $static -o cpp_static
}
says "$version" env LD_LIBRARY_PATH="$lib" ./c_shared
says "$version" env LD_LIBRARY_PATH="$lib" ./cpp_shared
says "$version" ./c_static
says "$version" ./cpp_static
! LD_LIBRARY_PATH="$work" ldd ./c_static | grep -q liblocus || fail "the static program needs the shared library"

# Nothing else is wanted: what pkg-config adds for a static program is the C library's, and one of that alone is whole.
case " $(pkg-config --static --libs-only-l locus) " in
" -llocus -lpthread -lm " | " -llocus -lpthread -lm  ") ;;
*) fail "a static program is to be linked with $(pkg-config --static --libs-only-l locus)" ;;
esac
if [ "$(cc -print-file-name=libc.a)" != libc.a ]; then
    # shellcheck disable=SC2086
    cc -std=c11 -static consumer.c $static -o c_whole
    says "$version" ./c_whole
fi

# CMake
mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
find_package(locus 0.2 REQUIRED)
foreach(language c cpp)
  add_executable(${language}_shared ../consumer.${language})
  target_link_libraries(${language}_shared locus::locus m)
  add_executable(${language}_static ../consumer.${language})
  target_link_libraries(${language}_static locus::locus_static m)
endforeach()
END
cmake -G Ninja -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; exit 1; }
cmake --build project/build >cmake.log 2>&1 || { cat cmake.log; exit 1; }
for program in c_shared c_static cpp_shared cpp_static; do
    says "$version" "project/build/$program"
done

# As docs/embed.md says it: its line for the compiler, and its part of a CMakeLists.txt.
embed=$source/docs/embed.md
cp consumer.c app.c
eval "$(grep '^cc app\.c ' "$embed")"
says "$version" env LD_LIBRARY_PATH="$lib" ./a.out
mkdir embed
{
    printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(app C)' 'add_executable(app ../app.c)'
    sed -n '/^```cmake$/,/^```$/{ /^```/d; p; }' "$embed"
    echo 'target_link_libraries(app PRIVATE m)'
} >embed/CMakeLists.txt
cmake -G Ninja -S embed -B embed/build -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; exit 1; }
cmake --build embed/build >cmake.log 2>&1 || { cat cmake.log; exit 1; }
says "$version" embed/build/app

# The tree may be moved.
mv "$prefix" "$work/moved"
prefix=$work/moved
lib=$work/moved/${lib#"$work/usr/"}
case $(PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags locus) in
*"$prefix"*) ;;
*) fail "locus.pc does not move with its tree" ;;
esac

# The program, its manual and its completions.
if [ -x "$build/locus" ]; then
    case $("$prefix/bin/locus" --version) in
    *"$version"*) ;;
    *) fail "locus --version does not name version $version" ;;
    esac
    for page in "$source"/man/*.1; do
        [ ! -f "$page" ] || [ -f "$prefix/share/man/man1/${page##*/}" ] || fail "${page##*/} is not installed"
    done
    [ ! -f "$source/completions/locus.bash" ] || [ -f "$prefix/share/bash-completion/completions/locus" ] ||
        fail "no completion for bash"
    [ ! -f "$source/completions/_locus" ] || [ -f "$prefix/share/zsh/site-functions/_locus" ] ||
        fail "no completion for zsh"
    [ ! -f "$source/completions/locus.fish" ] || [ -f "$prefix/share/fish/vendor_completions.d/locus.fish" ] ||
        fail "no completion for fish"
fi
