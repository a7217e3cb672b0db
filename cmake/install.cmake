# What `make install` lays down: headers (the device headers too), both libraries, pkg-config file, CMake
# package, the tool and its manual page. All of it may be moved as a whole: nothing states the prefix.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cohort)

install(TARGETS cohort cohort_static EXPORT cohort-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT cohort-targets NAMESPACE cohort:: DESTINATION ${package_dir})
configure_package_config_file(cmake/cohort-config.cmake.in cohort-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(cohort-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cohort-config.cmake ${PROJECT_BINARY_DIR}/cohort-config-version.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(cmake/cohort.pc.in cohort.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cohort.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET cohort_cli)
    install(TARGETS cohort_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES docs/cohort.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
