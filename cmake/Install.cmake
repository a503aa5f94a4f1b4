# Layout of `make install` and of packages. Paths are relative to the prefix, so that the whole folder can be moved:
#
#   bin/                    programs
#   lib/headroom/           modules that programs load when they need CUDA or LibTorch (decoder/base/os)
#   lib/libheadroom.so.0    planner and decoder for C (planner/c), include/headroom.h; lib/cmake/headroom for
#                           find_package(headroom), lib/pkgconfig/headroom.pc for pkg-config
#   share/                  man pages, completion for bash and zsh, the window's entry in menus
#
# Component `tools` has the planner, the reports and the window; `decoders` has the rest. Installed files contain no path of
# the build. The dynamic loader finds LibTorch like any other library.
include(CMakePackageConfigHelpers)
set(HEADROOM_TOOLS headroom-plan headroom-report headroom-gui)
set(HEADROOM_DECODERS headroom-decode headroom-profile)

# Generates man pages and completions from each program's --help at install time.
install(CODE "execute_process(COMMAND ${HEADROOM_PYTHON} -B ${PROJECT_SOURCE_DIR}/cmake/help_pages.py
  --bin ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} --out ${CMAKE_BINARY_DIR}/share COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)"
  COMPONENT tools)
foreach(component tools decoders)
  string(TOUPPER ${component} programs_of)
  foreach(program IN LISTS HEADROOM_${programs_of})
    if(NOT TARGET ${program})
      continue()
    endif()
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    headroom_install_without_run_path(${program} ${CMAKE_INSTALL_BINDIR} ${component})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT ${component}
      FILES_MATCHING PATTERN "${program}*" PATTERN "_${program}")
  endforeach()
endforeach()
foreach(module headroom-cuda headroom-cuda-lent headroom-c10d headroom-c10d-nccl)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION lib/headroom COMPONENT decoders)
    headroom_install_without_run_path(${module} lib/headroom decoders)
  endif()
endforeach()
if(HEADROOM_WHEEL)
  headroom_install_wheel_programs(headroom-plan headroom-decode headroom-report headroom-profile)
endif()
if(TARGET headroom-gui)
  install(FILES ${PROJECT_SOURCE_DIR}/planner/python/comfyui/icon.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps
    RENAME headroom.svg COMPONENT tools)
  install(FILES ${PROJECT_SOURCE_DIR}/gui/program/headroom.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT tools)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT decoders)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headroom-tools COMPONENT tools)

# The library for C.
install(TARGETS headroom_c EXPORT headroomTargets COMPONENT decoders
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT decoders NAMELINK_COMPONENT decoders
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT decoders)
headroom_install_without_run_path(headroom_c ${CMAKE_INSTALL_LIBDIR} decoders)
install(EXPORT headroomTargets NAMESPACE headroom:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headroom COMPONENT decoders)
file(WRITE ${CMAKE_BINARY_DIR}/package/headroomConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/headroomTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
set(url)
if(PROJECT_HOMEPAGE_URL)
  set(url "URL: ${PROJECT_HOMEPAGE_URL}\n")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/package/headroom.pc "prefix=\${pcfiledir}/../..
Name: headroom
Description: Decodes with VAEs within a memory limit
Version: ${PROJECT_VERSION}
${url}Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lheadroom
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
")
install(FILES ${CMAKE_BINARY_DIR}/package/headroom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT decoders)
install(FILES ${CMAKE_BINARY_DIR}/package/headroomConfig.cmake ${CMAKE_BINARY_DIR}/package/headroomConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headroom COMPONENT decoders)

# Debian packages: `make debs`, or cpack in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_CONTACT "The Headroom maintainers <maintainers@headroom.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tools decoders)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME headroom-tools)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "plans VAE decodes under a memory limit, and shows where their peaks are
 headroom-plan, headroom-report and headroom-gui. Needs no GPU and no LibTorch.")
set(CPACK_DEBIAN_DECODERS_PACKAGE_NAME headroom)
set(CPACK_DEBIAN_DECODERS_PACKAGE_DEPENDS "headroom-tools (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DECODERS_DESCRIPTION "decodes latents into the untiled picture inside a byte budget
 headroom-decode, headroom-profile, and the planner as a library for C. headroom-profile, several ranks and GPUs
 need LibTorch, which is found by LD_LIBRARY_PATH.")
if(HEADROOM_TORCH_DIR)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${HEADROOM_TORCH_DIR}/lib)
endif()
include(CPack)
