# SPDX-License-Identifier: MIT
# tests/reference/*.c   the plain dense reference and what draws cases for it, for tests and fuzz targets alike; they need
#                       nothing but the library. Optimised in every build, and instrumented in none: loops over d × d
#                       matrices are most of the differential test's time, and it is not they that are tested.
include_guard()

file(GLOB reference CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/reference/*.c)
add_library(locus_reference STATIC ${reference})
target_include_directories(locus_reference PUBLIC tests)
target_compile_options(locus_reference PRIVATE -O2)
target_link_libraries(locus_reference PRIVATE locus_flags PUBLIC locus_static)
if(LOCUS_SANITIZE)
  target_compile_definitions(locus_reference PRIVATE LOCUS_SANITIZED)
  set_source_files_properties(${reference} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
endif()
