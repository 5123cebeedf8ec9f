# SPDX-License-Identifier: MIT
# The extension module of the Python package: python/src, with liblocus inside. pip builds it (pyproject.toml); by hand:
#
#   cmake -DLOCUS_PYTHON_MODULE=ON -DPython_EXECUTABLE=…/bin/python …     an interpreter that has nanobind
#   PYTHONPATH=BUILD/python …/bin/python                          BUILD/python/locus: the package, ready to import

# With LOCUS_PYTHON_LIBRARY a liblocus.a that is there already is linked, and this build makes none.

set(LOCUS_PYTHON_LIBRARY "" CACHE FILEPATH "A liblocus.a to link into the extension module; empty: this build's own")
enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

# One module for all interpreters from 3.12 on, one for each before.
file(GLOB LOCUS_PYTHON_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/src/*.cpp)
nanobind_add_module(locus_python STABLE_ABI NB_STATIC NOMINSIZE ${LOCUS_PYTHON_SOURCES})

# A room of the laboratory goes with it, which needs nothing but the library: what import_rope reads by.
file(GLOB LOCUS_ROPE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/lab/rope/*.c)
add_library(locus_rope STATIC ${LOCUS_ROPE_SOURCES})
set_target_properties(locus_rope PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(locus_rope PUBLIC lab PRIVATE include)
target_link_libraries(locus_rope PRIVATE locus_flags)
target_link_libraries(locus_python PRIVATE locus_rope)
if(LOCUS_PYTHON_LIBRARY)
  target_include_directories(locus_python PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(locus_python PRIVATE ${LOCUS_PYTHON_LIBRARY} Threads::Threads m)
else()
  target_link_libraries(locus_python PRIVATE locus_static)
endif()
# Nothing but its entry is seen from outside: a process may hold another liblocus.
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/python.map "{\n  global: PyInit__core;\n  local: *;\n};\n")
  target_link_options(locus_python PRIVATE LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/python.map)
  set_target_properties(locus_python PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/python.map)
elseif(APPLE)
  target_link_options(locus_python PRIVATE LINKER:-exported_symbol,_PyInit__core)
endif()
set_target_properties(locus_python PROPERTIES OUTPUT_NAME _core
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/python/locus)
install(TARGETS locus_python LIBRARY DESTINATION locus COMPONENT python)

# Beside the module, the package as it stands in the tree, so that what was built can be imported.
if(SKBUILD)
  return()
endif()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/python/locus)
file(GLOB package CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/locus/*)
foreach(file IN LISTS package)
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${CMAKE_CURRENT_BINARY_DIR}/python/locus/${name} SYMBOLIC)
endforeach()
