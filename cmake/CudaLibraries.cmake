# Finds the libraries of the CUDA module in the wheels that LibTorch brings: the CUDA runtime, cuDNN, cuBLASLt and LibTorch's
# caching allocator. The wheels have no unversioned names, so this file gives full names.
cmake_path(GET HEADROOM_TORCH_DIR PARENT_PATH wheels)
set(HEADROOM_CUDA_LIBRARIES_FOUND TRUE)
if(NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.")
  set(HEADROOM_CUDA_LIBRARIES_FOUND FALSE)
  message(STATUS "nvcc ${CMAKE_CUDA_COMPILER_VERSION} does not go with LibTorch's CUDA 13: built without GPU support")
endif()

# headroom_import_wheel_libraries(<name> <file>...): headroom::<name>, with the headers of CUDA, cuDNN and LibTorch.
function(headroom_import_wheel_libraries name)
  add_library(headroom_${name} INTERFACE)
  add_library(headroom::${name} ALIAS headroom_${name})
  target_include_directories(headroom_${name} SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
    ${wheels}/nvidia/cudnn/include ${wheels}/nvidia/cu13/include ${HEADROOM_TORCH_DIR}/include)
  foreach(library IN LISTS ARGN)
    if(NOT EXISTS ${library})
      set(HEADROOM_CUDA_LIBRARIES_FOUND FALSE PARENT_SCOPE)
      message(STATUS "no ${library}: built without GPU support")
    endif()
    target_link_libraries(headroom_${name} INTERFACE ${library})
  endforeach()
endfunction()

headroom_import_wheel_libraries(cuda_libraries ${wheels}/nvidia/cu13/lib/libcudart.so.13
  ${wheels}/nvidia/cu13/lib/libcublasLt.so.13 ${wheels}/nvidia/cudnn/lib/libcudnn.so.9)
headroom_import_wheel_libraries(libtorch_cuda ${HEADROOM_TORCH_DIR}/lib/libc10_cuda.so ${HEADROOM_TORCH_DIR}/lib/libc10.so)
list(APPEND HEADROOM_LIBRARY_FOLDERS ${wheels}/nvidia/cu13/lib ${wheels}/nvidia/cudnn/lib)
