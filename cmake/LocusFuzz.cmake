# SPDX-License-Identifier: MIT
# tests/fuzz/targets/fuzz_<name>.c   one fuzz target each, LLVMFuzzerTestOneInput
# tests/fuzz/corpus/<name>/          its inputs
# tests/fuzz/dictionaries/<name>.dict  words that help it, if it has any
# tests/fuzz/support/*.c             shared by the targets
#
# Without an engine each target is linked with replay.c and becomes a test, fuzz.<name>, that goes through its corpus.
# With one (the preset `fuzz`: clang's libFuzzer) it becomes a program that searches.

set(LOCUS_FUZZ_ENGINE "" CACHE STRING "What fuzz targets are linked with: \"-fsanitize=fuzzer\", a library, or empty")

if(LOCUS_FUZZ_ENGINE)
  enable_language(CXX) # engines are written in it, and targets linked as it is
endif()

add_library(locus_fuzzing INTERFACE)
target_include_directories(locus_fuzzing INTERFACE tests/fuzz/support tests src lab cli ${LAB_INCLUDE_DIRS})
target_compile_definitions(locus_fuzzing INTERFACE LOCUS_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(locus_fuzzing INTERFACE locus_flags)
if(TARGET locus_commands)
  target_link_libraries(locus_fuzzing INTERFACE locus_commands)
endif()
include(LocusReference)
target_link_libraries(locus_fuzzing INTERFACE locus_reference locus_static m)
if(NOT APPLE)
  target_link_options(locus_fuzzing INTERFACE LINKER:--as-needed)
endif()

# locus_fuzz_targets(folder): every target below the folder's targets/.
function(locus_fuzz_targets folder)
  file(GLOB targets CONFIGURE_DEPENDS ${folder}/targets/fuzz_*.c)
  file(GLOB support CONFIGURE_DEPENDS ${folder}/support/*.c)
  list(REMOVE_ITEM support ${folder}/support/replay.c)
  add_library(locus_fuzz_support STATIC ${support})
  target_link_libraries(locus_fuzz_support PUBLIC locus_fuzzing)
  if(NOT LOCUS_FUZZ_ENGINE)
    add_library(locus_fuzz_replay OBJECT ${folder}/support/replay.c)
    target_link_libraries(locus_fuzz_replay PRIVATE locus_fuzzing)
  endif()
  add_custom_target(fuzz_targets)
  foreach(source IN LISTS targets)
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${program})
    add_executable(${program} ${source})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
    target_link_libraries(${program} PRIVATE locus_fuzz_support locus_fuzzing)
    add_dependencies(fuzz_targets ${program})
    if(LOCUS_FUZZ_ENGINE)
      set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
      # Behind the target's objects, which an engine that is an archive refers to.
      separate_arguments(engine UNIX_COMMAND "${LOCUS_FUZZ_ENGINE}")
      target_link_libraries(${program} PRIVATE ${engine})
    else()
      target_link_libraries(${program} PRIVATE $<TARGET_OBJECTS:locus_fuzz_replay>)
      locus_register(fuzz.${name} "fuzz;address;undefined" ${program} ${folder}/corpus/${name})
      add_dependencies(address_tests ${program})
    endif()
  endforeach()
endfunction()

if(LOCUS_LAB)
  locus_fuzz_targets(${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz)
endif()
