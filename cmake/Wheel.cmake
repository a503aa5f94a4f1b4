# Files of a Python wheel. They run on every Linux with glibc 2.34. Codecs and libstdc++ are linked statically. The linker drops
# unused code, because unused parts of Debian's libstdc++ call functions of newer glibc versions (arc4random). libgcc is linked
# dynamically: Debian's static libgcc needs glibc 2.35. The GPU module shares libstdc++ with PyTorch, whose CUDA libraries it needs.
option(HEADROOM_WHEEL "Build the files of a Python wheel, for other machines than this one" OFF)
option(HEADROOM_WHEEL_PROGRAMS "Build the programs for the wheel, too" OFF)
if(HEADROOM_WHEEL)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections;-fdata-sections>")
  add_link_options(LINKER:--gc-sections $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libstdc++>)
endif()

# Programs become console commands. They lie in the wheel's folder of scripts, which pip copies to bin/.
function(headroom_install_wheel_programs)
  if(NOT SKBUILD_SCRIPTS_DIR OR NOT HEADROOM_WHEEL_PROGRAMS)
    return()
  endif()
  add_dependencies(python_package ${ARGN})
  foreach(program IN LISTS ARGN)
    install(TARGETS ${program} RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python EXCLUDE_FROM_ALL)
    headroom_install_without_run_path(${program} ${SKBUILD_SCRIPTS_DIR} python)
  endforeach()
endfunction()
