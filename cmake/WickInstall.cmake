# make install: libraries, headers, plugins (lib/wick), command, man page, find_package(wick) and pkg-config.
include(CMakePackageConfigHelpers)

set(WICK_PLUGIN_DIR ${CMAKE_INSTALL_LIBDIR}/wick)
# What a plugin compiles against: headers alone.
add_library(wick_sdk INTERFACE)
target_link_libraries(wick_sdk INTERFACE wick_headers)
target_compile_options(wick_sdk INTERFACE -fvisibility=hidden)
set_target_properties(wick_sdk PROPERTIES EXPORT_NAME sdk)
set(WICK_EXPORTED wick_headers wick_sdk)
foreach(target wick wick-nn)
  if(TARGET ${target})
    list(APPEND WICK_EXPORTED ${target})
  endif()
endforeach()
install(TARGETS ${WICK_EXPORTED} EXPORT wickTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT wickTargets NAMESPACE wick:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wick)

foreach(target wick_cpu wick_refdevice wick_opencl)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${WICK_PLUGIN_DIR})
  endif()
endforeach()
# Those with kernels.
foreach(vendor CUDA HIP)
  if(WICK_${vendor})
    string(TOLOWER ${vendor} name)
    install(TARGETS wick_${name} LIBRARY DESTINATION ${WICK_PLUGIN_DIR})
  endif()
endforeach()
if(TARGET wick-cli)
  install(TARGETS wick-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(include core/include sdk/include nn/include ${CMAKE_BINARY_DIR}/generated/include)
  install(DIRECTORY ${include}/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL FILES_MATCHING PATTERN "*.h"
    PATTERN "*.inc")
endforeach()
install(FILES docs/man/wick.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/wickConfig.cmake.in ${CMAKE_BINARY_DIR}/wickConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wick PATH_VARS WICK_PLUGIN_DIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wickConfig.cmake ${CMAKE_BINARY_DIR}/wickConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wick)

foreach(module wick wick-nn)
  configure_file(cmake/${module}.pc.in ${CMAKE_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
