# SPDX-License-Identifier: MIT
# Compiler flags of every C file, as the interface target locus_flags, and the instruction sets of kernel files.

include(CheckCCompilerFlag)
include(CheckCSourceRuns)

add_library(locus_flags INTERFACE)
target_compile_definitions(locus_flags INTERFACE _POSIX_C_SOURCE=200809L)

# Contraction is explicit in the kernels and nothing is reassociated: results must not depend on the compiler's mood.
# Nothing here looks at the flags of floating-point exceptions; GCC keeps to them, and leaves loops with a choice in them
# as they are (`h > 0 ? g * scale : 0`), unless it is told so. No number depends on it; which flags are raised does.
target_compile_options(locus_flags INTERFACE -ffp-contract=off -fno-math-errno -fno-trapping-math
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes)

# Sizes are constants of nameless enumerations, and to divide a double by one is meant; clang 18 warns of it.
check_c_compiler_flag(-Wenum-float-conversion LOCUS_HAS_enum_float_conversion)
if(LOCUS_HAS_enum_float_conversion)
  target_compile_options(locus_flags INTERFACE -Wno-enum-float-conversion)
endif()

# On Windows: isfinite and signbit are macros that convert; and GCC aligns no stack to the width of AVX registers (its
# bug 54412), so the assembler takes moves that need none.
if(MINGW)
  target_compile_options(locus_flags INTERFACE -Wno-float-conversion)
  check_c_compiler_flag(-Wa,-muse-unaligned-vector-move LOCUS_HAS_unaligned_moves)
  if(LOCUS_HAS_unaligned_moves)
    target_compile_options(locus_flags INTERFACE -Wa,-muse-unaligned-vector-move)
  endif()
endif()

# Off unless asked for: a compiler newer than the ones we have seen may know new warnings, which must not stop a user's
# build. The presets ask for it, whatever the compiler.
if(LOCUS_WERROR)
  target_compile_options(locus_flags INTERFACE -Werror)
endif()

set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-Og -g")

set(LOCUS_SANITIZE_FLAGS "")
if(LOCUS_SANITIZE)
  # A sanitizer's report needs names and lines; variables would double the time to compile a kernel.
  set(CMAKE_C_FLAGS_DEBUG "-Og -g1")
  set(LOCUS_SANITIZE_FLAGS -fsanitize=${LOCUS_SANITIZE} -fno-omit-frame-pointer)
  if(LOCUS_SANITIZE MATCHES "undefined")
    list(APPEND LOCUS_SANITIZE_FLAGS -fno-sanitize-recover=all)
  endif()
  target_compile_options(locus_flags INTERFACE ${LOCUS_SANITIZE_FLAGS})
  target_link_options(locus_flags INTERFACE ${LOCUS_SANITIZE_FLAGS})
endif()

# Counts executed lines; read by tools/coverage.py.
option(LOCUS_COVERAGE "clang's source-based coverage" OFF)
if(LOCUS_COVERAGE)
  target_compile_options(locus_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(locus_flags INTERFACE -fprofile-instr-generate)
endif()

# Instruction sets that kernels are compiled for (kernels_level.c, half_level.c), beside the scalar ones: names into
# `levels`, flags into LOCUS_FLAGS_<name>. The library picks among them at run time.
macro(locus_instruction_sets levels)
  set(${levels} "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(${levels} AVX2 AVX512)
    # Under a sanitizer a level takes longest of all to compile, for nothing where the processor cannot run it.
    if(LOCUS_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
      file(STRINGS /proc/cpuinfo LOCUS_HAS_AVX512 LIMIT_COUNT 1 REGEX "^flags.* avx512f ")
      if(NOT LOCUS_HAS_AVX512)
        set(${levels} AVX2)
        target_compile_definitions(locus_flags INTERFACE LOCUS_WITHOUT_AVX512)
      endif()
    endif()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(${levels} NEON)
  endif()
  set(LOCUS_FLAGS_AVX2 -mavx2 -mfma -mf16c)
  set(LOCUS_FLAGS_AVX512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma)
  set(LOCUS_FLAGS_NEON "")
endmacro()

# The levels of bfloat16_level.c, by number: AVX512-BF16 and AMX, where the compiler knows them and there is AVX-512 to
# stand beside. dispatch.c is told of each by LOCUS_WITH_<name>.
macro(locus_bfloat16_levels levels)
  set(${levels} "")
  set(known "")
  set(besides ${ARGN})
  if("AVX512" IN_LIST besides)
    set(LOCUS_FLAGS_1 ${LOCUS_FLAGS_AVX512} -mavx512bf16)
    set(LOCUS_FLAGS_2 ${LOCUS_FLAGS_1} -mamx-tile -mamx-bf16)
    check_c_compiler_flag(-mavx512bf16 LOCUS_HAS_avx512bf16)
    check_c_compiler_flag(-mamx-bf16 LOCUS_HAS_amx)
    if(LOCUS_HAS_avx512bf16)
      list(APPEND ${levels} 1)
      list(APPEND known LOCUS_WITH_AVX512_BF16)
    endif()
    if(LOCUS_HAS_avx512bf16 AND LOCUS_HAS_amx AND CMAKE_SYSTEM_NAME STREQUAL Linux)
      list(APPEND ${levels} 2)
      list(APPEND known LOCUS_WITH_AMX)
    endif()
    set_property(SOURCE src/kernels/dispatch.c APPEND PROPERTY COMPILE_DEFINITIONS ${known})
  endif()
endmacro()

# Whether linker and C library know relative relocations in their short form.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
  set(CMAKE_REQUIRED_FLAGS -fPIE)
  set(CMAKE_REQUIRED_LINK_OPTIONS -pie LINKER:-z,pack-relative-relocs,--fatal-warnings)
  check_c_source_runs("static int x; int *volatile place = &x; int main(void) { return *place; }"
                      LOCUS_HAS_SHORT_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
