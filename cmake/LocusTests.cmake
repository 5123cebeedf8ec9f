# SPDX-License-Identifier: MIT
# tests/<room>/test_<thing>.c   one program each, with cmocka; label: the room
# tests/<room>/<other>.c        shared by the tests, linked into each
# tests/{cli,cluster,install,lint}/*.sh scripts; environment: LOCUS (the program), LOCUS_BUILD, LOCUS_SOURCE, LOCUS_VERSION
# bench/*.c, examples/*.c       one program for each file with a main(); examples run as tests too
# A test that exits with 77 was skipped.

# A test that hangs is ended; on a quiet machine of two cores the longest takes 45 seconds.
set(LOCUS_TEST_SECONDS 300)

# Splits files into programs (with a main) and parts that they share; drops what needs the laboratory if it is not built.
function(locus_sort_programs files programs parts)
  set(with "")
  set(without "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} lab
         REGEX "#include \"((rope|io|bound|check|fold|jobs|bench|samples|kinds|text|nn|model|ranks|task|train|report)/|(golden|model_differences|command|options|output)\\.h\")")
    if(lab AND NOT LOCUS_LAB)
      continue()
    endif()
    file(STRINGS ${file} main REGEX "^int main\\(")
    if(main)
      list(APPEND with ${file})
    else()
      list(APPEND without ${file})
    endif()
  endforeach()
  set(${programs} ${with} PARENT_SCOPE)
  set(${parts} ${without} PARENT_SCOPE)
endfunction()

# What every test and bench is compiled and linked with.
add_library(locus_testing INTERFACE)
target_include_directories(locus_testing INTERFACE src lab cli tests ${CMOCKA_INCLUDE_DIR} ${LAB_INCLUDE_DIRS}
                                                   ${LAPACKE_INCLUDE_DIR})
target_compile_definitions(locus_testing INTERFACE LOCUS_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(locus_testing INTERFACE locus_flags)
if(LOCUS_LAB)
  target_link_libraries(locus_testing INTERFACE lab)
endif()
target_link_libraries(locus_testing INTERFACE locus_static ${LAPACKE_LIBRARY} ${CMOCKA_LIBRARY} m)
if(NOT APPLE)
  target_link_options(locus_testing INTERFACE LINKER:--as-needed)
endif()

# Two hundred programs, whose time is the library's and, for some, that of plain loops which results are compared with. To
# optimise them takes longer than they gain by it, so only what holds such loops is: what several programs share, and these.
# The system's linker takes longer over each than most of them run.
set(LOCUS_TEST_OPTIONS -O0)
set(LOCUS_ORACLE_OPTIONS -O2)
set(LOCUS_ORACLES attention_bfloat16 attention_bias attention_plain bf16 condensed contextual distance linalg orthogonal
    orthogonal_gradient tree_operators)
# Under a sanitizer it is the library that is tested: files that hold nothing but an oracle are not instrumented, and in
# programs behaviour that C does not define is not looked for.
if(LOCUS_SANITIZE)
  list(APPEND LOCUS_TEST_OPTIONS -fno-sanitize=undefined)
  target_compile_definitions(locus_testing INTERFACE LOCUS_SANITIZED)
  foreach(oracle attention_oracle kinds_dense problem_oracle)
    set_source_files_properties(tests/unit/${oracle}.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
  endforeach()
endif()
find_program(LOCUS_MOLD mold)
mark_as_advanced(LOCUS_MOLD)
if(LOCUS_MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=mold LOCUS_HAS_MOLD)
  if(LOCUS_HAS_MOLD)
    target_link_options(locus_testing INTERFACE -fuse-ld=mold)
  endif()
endif()

# Rooms whose tests also run under the address sanitizer, and under clang's undefined-behaviour sanitizer; the tests to
# build for each sanitizer.
set(LOCUS_ADDRESS_ROOMS unit kernels grad property fault fuzz)
set(LOCUS_UNDEFINED_ROOMS unit kernels grad property fuzz)
add_custom_target(address_tests)
add_custom_target(threads_tests)

set(LOCUS_TEST_ENVIRONMENT LOCUS=${CMAKE_CURRENT_BINARY_DIR}/locus LOCUS_BUILD=${CMAKE_CURRENT_BINARY_DIR}
    LOCUS_SOURCE=${CMAKE_CURRENT_SOURCE_DIR} LOCUS_VERSION=${PROJECT_VERSION})

# locus_register(name labels command…)
function(locus_register name labels)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 TIMEOUT ${LOCUS_TEST_SECONDS}
                                          ENVIRONMENT "${LOCUS_TEST_ENVIRONMENT}")
endfunction()

# ---- C tests ----

include(LocusReference)
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*/*.c)
list(FILTER files EXCLUDE REGEX "/tests/reference/")
locus_sort_programs("${files}" LOCUS_TEST_SOURCES parts)
if(parts)
  add_library(locus_test_parts STATIC ${parts})
  target_compile_options(locus_test_parts PRIVATE ${LOCUS_TEST_OPTIONS} ${LOCUS_ORACLE_OPTIONS})
  target_link_libraries(locus_test_parts PUBLIC locus_testing ${ARCHIVE_LIBRARY})
endif()
file(GLOB_RECURSE LOCUS_COMMAND_HEADERS CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/cli
     ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.h)
list(TRANSFORM LOCUS_COMMAND_HEADERS REPLACE "(.*/)?([^/]+)\\.h" "\\2")
list(JOIN LOCUS_COMMAND_HEADERS "|" LOCUS_COMMAND_HEADERS)
foreach(source IN LISTS LOCUS_TEST_SOURCES)
  get_filename_component(name ${source} NAME_WE)
  if(NOT name MATCHES "^test_")
    continue() # what the scripts compile
  endif()
  # Tests that let allocations fail put their own functions in the allocator's place, which Apple's linker cannot do.
  file(STRINGS ${source} wraps REGEX "failing_allocator.h")
  if(wraps AND APPLE)
    continue()
  endif()
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(room ${folder} NAME)
  string(REGEX REPLACE "^test_" "" thing ${name})
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE ${LOCUS_TEST_OPTIONS})
  if(thing IN_LIST LOCUS_ORACLES)
    target_compile_options(${name} PRIVATE ${LOCUS_ORACLE_OPTIONS})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
  if(TARGET locus_test_parts)
    target_link_libraries(${name} PRIVATE locus_test_parts)
  endif()
  target_link_libraries(${name} PRIVATE locus_reference locus_testing)
  # Few tests are of cli/: a stage that runs none of them compiles none of it.
  file(STRINGS ${source} commands REGEX "#include \"(.*/)?(${LOCUS_COMMAND_HEADERS})\\.h\"")
  if(commands AND TARGET locus_commands)
    target_link_libraries(${name} PRIVATE locus_commands)
  endif()
  set(labels ${room})
  if(room IN_LIST LOCUS_ADDRESS_ROOMS)
    list(APPEND labels address)
    add_dependencies(address_tests ${name})
  endif()
  if(room IN_LIST LOCUS_UNDEFINED_ROOMS)
    list(APPEND labels undefined)
  endif()
  # Tests that start threads also run under the thread sanitizer; one that asks for a single thread, or gives the
  # default back, starts none.
  file(STRINGS ${source} threads REGEX "pthread_create|lab_ranks_threads|locus_threads_set\\(([^01]|1[^)])")
  if(threads OR name MATCHES "thread|parallel")
    list(APPEND labels threads)
    add_dependencies(threads_tests ${name})
  endif()
  if(wraps)
    target_link_options(${name} PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc
                                        LINKER:--wrap=aligned_alloc,--wrap=posix_memalign
                                        LINKER:--wrap=strdup,--wrap=strndup)
  endif()
  locus_register(${room}.${thing} "${labels}" ${name})
  # A filter (tests/threads_only.h) that nothing matches any more.
  set_tests_properties(${room}.${thing} PROPERTIES FAIL_REGULAR_EXPRESSION "Running 0 test")
endforeach()

# ---- forms: what plans do, rebuilt in NumPy from what they say of themselves ----

add_executable(form_cases ${CMAKE_CURRENT_SOURCE_DIR}/tests/forms/form_cases.c)
target_compile_options(form_cases PRIVATE ${LOCUS_TEST_OPTIONS})
target_link_libraries(form_cases PRIVATE locus_reference locus_testing)
set_target_properties(form_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
find_program(LOCUS_PYTHON python3)
mark_as_advanced(LOCUS_PYTHON)
if(LOCUS_PYTHON)
  locus_register(forms.rebuild forms ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/forms/rebuild.py
                 $<TARGET_FILE:form_cases> 1 600)
  locus_register(forms.evaluated forms ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/forms/rebuild.py
                 $<TARGET_FILE:form_cases> 2 300 evaluated)
  locus_register(forms.autograd forms ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/forms/autograd.py
                 $<TARGET_FILE:form_cases> 1 400)
endif()

# ---- what people read: its blocks run, its links lead somewhere ----

if(LOCUS_PYTHON AND TARGET locus_program AND NOT LOCUS_SANITIZE)
  file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/docs/*.md)
  foreach(page IN LISTS pages ITEMS README.md CONTRIBUTING.md SECURITY.md docs/results/README.md)
    string(REGEX REPLACE "^docs/|\\.md$" "" name ${page})
    string(REPLACE / _ name ${name})
    locus_register(docs.blocks_${name} docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/docs/run_blocks.py ${page})
  endforeach()
  locus_register(docs.shown docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/docs/shown_commands.py)
  locus_register(docs.links docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/docs/check_links.py)
  locus_register(docs.written docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/docs/written.py)
  locus_register(docs.site docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/docs/site/stage.py
                 ${CMAKE_CURRENT_BINARY_DIR}/docs ${CMAKE_CURRENT_BINARY_DIR}/locus)
  locus_register(docs.overview docs ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tools/overview_picture.py --check)
endif()

# ---- pages of the laboratory, in a browser ----

if(LOCUS_LAB AND NOT LOCUS_SANITIZE)
  add_executable(page_cases ${CMAKE_CURRENT_SOURCE_DIR}/tests/pages/page_cases.c)
  target_compile_options(page_cases PRIVATE ${LOCUS_TEST_OPTIONS})
  target_link_libraries(page_cases PRIVATE locus_test_parts locus_testing)
  set_target_properties(page_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
  if(LOCUS_PYTHON AND TARGET locus_program)
    locus_register(pages.browser pages ${LOCUS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/pages/check_pages.py
                   $<TARGET_FILE:page_cases>)
  endif()
endif()

# ---- scripts ----

set(rooms install lint)
if(TARGET locus_program)
  list(APPEND rooms cli cluster)
endif()
list(TRANSFORM rooms REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/tests/\\1/*.sh")
file(GLOB scripts CONFIGURE_DEPENDS ${rooms})
foreach(script IN LISTS scripts)
  get_filename_component(thing ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  get_filename_component(room ${folder} NAME)
  file(STRINGS ${script} first LIMIT_COUNT 1)
  set(shell sh)
  if(first MATCHES "bash")
    set(shell bash)
  endif()
  locus_register(${room}.${thing} ${room} ${shell} ${script})
endforeach()

# ---- faults: locus in a program that lets allocations and system calls fail, or kills it ----

if(TARGET locus_commands AND NOT LOCUS_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL Linux)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fault/program/*.c)
  # The program's own main() stands beside the one of the tests, under another name.
  add_library(locus_main OBJECT cli/main.c)
  target_compile_definitions(locus_main PRIVATE main=locus_main)
  target_compile_options(locus_main PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/tests/fault/program/faults.h)
  target_link_libraries(locus_main PRIVATE locus_flags locus_commands)
  add_executable(faults ${files} $<TARGET_OBJECTS:locus_main>)
  target_compile_definitions(faults PRIVATE _GNU_SOURCE)
  target_include_directories(faults PRIVATE ${LAB_INCLUDE_DIRS})
  target_link_libraries(faults PRIVATE locus_flags locus_commands)
  set_target_properties(faults PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
  foreach(form allocations calls kills)
    # One seed for all: a test that fails once in a while names nothing. ./dev faults draws others.
    locus_register(faults.${form} faults faults ${form} --seed 6)
  endforeach()
  locus_register(faults.memcheck faults sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/memcheck.sh short)
endif()

# ---- benches and examples ----

file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.c)
locus_sort_programs("${files}" programs parts)
if(parts)
  add_library(locus_bench_parts STATIC ${parts})
  target_include_directories(locus_bench_parts PUBLIC bench)
  target_link_libraries(locus_bench_parts PUBLIC locus_testing)
endif()
foreach(source IN LISTS programs)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE bench)
  if(TARGET locus_bench_parts)
    target_link_libraries(${name} PRIVATE locus_bench_parts)
  endif()
  target_link_libraries(${name} PRIVATE locus_testing)
endforeach()

file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS examples)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                                                   RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/examples)
  target_link_libraries(example_${name} PRIVATE locus_flags locus_static m)
  locus_register(examples.${name} examples example_${name})
endforeach()

# Plugins of the program: they link with nothing.
if(TARGET locus_program)
  function(locus_add_plugins folder)
    file(GLOB plugins CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c)
    foreach(source IN LISTS plugins)
      get_filename_component(name ${source} NAME_WE)
      add_library(plugin_file_${name} MODULE ${source})
      set_target_properties(plugin_file_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" SUFFIX ".so"
                                                           LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
      target_include_directories(plugin_file_${name} PRIVATE include)
      target_link_libraries(plugin_file_${name} PRIVATE locus_flags m)
    endforeach()
  endfunction()
  locus_add_plugins(examples/plugins)
  locus_add_plugins(tests/plugins)
  target_include_directories(plugin_file_plugin_ranks PRIVATE lab)
  add_dependencies(test_job_ranks plugin_file_plugin_ranks plugin_file_plugin_none)
endif()

# In a fresh tree ctest has no times to go by: what takes longest starts first, so that no core waits at the end; what
# mostly waits begins early too. Seconds by the clock, of the dearest stage.
set(LOCUS_TEST_COSTS lint.clang 60 faults.calls 50 cli.resume 42 cli.train_trees 41 faults.allocations 40
    cli.train_continue 36 cluster.ranks 34 hostile.hostile_stores 34 fault.allocation_lab 34 unit.train 32
    cli.reproduce_tasks 30 property.differential 23 property.layouts 18 unit.model_trees 18 unit.train_precision 17
    unit.attention_options 17 grad.model 16 unit.attention_oracle 16 faults.memcheck 16 unit.attention_threads 15
    unit.concurrency 15 unit.attention_bfloat16 15 unit.attention_unseen 15 unit.train_ranks 15 pages.browser 14
    unit.attention_clustered 12 unit.execution 12 lint.aarch64 12 unit.tree_operators 11 forms.rebuild 11
    lint.mingw 9 unit.product 8 forms.evaluated 6 faults.kills 6)
while(LOCUS_TEST_COSTS)
  list(POP_FRONT LOCUS_TEST_COSTS name seconds)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
endwhile()
