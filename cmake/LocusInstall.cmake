# SPDX-License-Identifier: MIT
# What `cmake --install` leaves: libraries, headers, pkg-config and CMake package files, and the program with its manual
# pages and completions.
include(CMakePackageConfigHelpers)

set(LOCUS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/locus)

install(TARGETS locus_shared locus_static EXPORT locus-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/locus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(EXPORT locus-targets NAMESPACE locus:: DESTINATION ${LOCUS_CMAKE_DIR})
configure_package_config_file(cmake/locus-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/locus-config.cmake
  INSTALL_DESTINATION ${LOCUS_CMAKE_DIR})
# Before 1.0 a minor version may break its callers.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/locus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/locus-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/locus-config-version.cmake
  DESTINATION ${LOCUS_CMAKE_DIR})

# The prefix in locus.pc is found relative to the file, so that an installed tree can be moved and `--prefix` works.
file(RELATIVE_PATH LOCUS_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" LOCUS_PC_PREFIX "${LOCUS_PC_PREFIX}")
configure_file(cmake/locus.pc.in ${CMAKE_CURRENT_BINARY_DIR}/locus.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/locus.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET locus_program)
  install(TARGETS locus_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(LOCUS_MPI_PLUGINS)
    install(TARGETS ${LOCUS_MPI_PLUGINS} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/locus)
  endif()
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/man/*.1)
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES completions/locus.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME locus OPTIONAL)
  install(FILES completions/_locus DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
  install(FILES completions/locus.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endif()
