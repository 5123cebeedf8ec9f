# SPDX-License-Identifier: MIT
# Flags that turn a memory error into an end of the process rather than into somebody else's code: stack protector,
# checked calls of the C library, stack clash and control flow protection, read-only relocations, a program at any
# address. They are part of locus_flags; tests/lint/hardened.sh reads them back from what was built. A sanitizer takes
# their place where one is in use. For Windows GCC 12 breaks down over stack clash protection, and the others need a
# library more.
include(CheckCCompilerFlag)
include(CheckPIESupported)

option(LOCUS_HARDEN "Hardened code and binaries" ON)

if(LOCUS_HARDEN AND NOT LOCUS_SANITIZE AND NOT WIN32)
  # As errors, because clang only warns of a flag that its target has no use for.
  set(CMAKE_REQUIRED_FLAGS -Werror)
  foreach(flag stack-protector-strong stack-clash-protection cf-protection)
    string(MAKE_C_IDENTIFIER LOCUS_HAS_${flag} has)
    check_c_compiler_flag(-f${flag} ${has})
    if(${has})
      target_compile_options(locus_flags INTERFACE -f${flag})
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_FLAGS)

  # Level 3 measures objects whose size is known at run time only. The C library checks nothing without optimisation.
  set(level 2)
  if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
     (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12))
    set(level 3)
  endif()
  # Some distributions' compilers define it themselves.
  target_compile_options(locus_flags INTERFACE -U_FORTIFY_SOURCE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=${level}>)

  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(locus_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  endif()
  check_pie_supported(LANGUAGES C)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
