# Sets the RUNPATH by which programs of the build folder find LibTorch and CUDA, and removes it from installed copies.
#
# CMake can edit a RUNPATH when it installs, but pads the one that it will edit with ':'. The loader takes an empty element
# for the current folder and would run code from there. So targets are linked with the final RUNPATH, and the installed
# copy's is removed. tests/packaging/check_binaries.py checks all of them.
set(HEADROOM_LIBRARY_FOLDERS)  # absolute, without an empty element

# headroom_install_without_run_path(<target> <folder> <component>): call after install(TARGETS <target>), with the same folder.
function(headroom_install_without_run_path target folder component)
  if(NOT HEADROOM_LIBRARY_FOLDERS OR CMAKE_SKIP_RPATH)
    return()
  endif()
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${HEADROOM_LIBRARY_FOLDERS}")
  set(exclude)
  if(component STREQUAL "python")  # files of a wheel, which `cmake --install` leaves out
    set(exclude EXCLUDE_FROM_ALL)
  endif()
  install(CODE "set(file \"${folder}/$<TARGET_FILE_NAME:${target}>\")
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${file}\")" COMPONENT ${component} ${exclude})
endfunction()
