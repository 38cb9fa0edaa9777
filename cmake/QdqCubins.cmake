# CUDA's kernels compiled for architectures that are known: QDQ_CUDA_ARCHITECTURES.

# Of a CUDA toolkit, or of the wheel nvidia-cuda-nvcc in the environment of the build.
file(GLOB wheels ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/nvidia/cuda_nvcc/bin)
find_program(QDQ_PTXAS ptxas HINTS ENV CUDA_PATH ${wheels} PATHS /usr/local/cuda PATH_SUFFIXES bin
             DOC "NVIDIA's assembler, for QDQ_CUDA_ARCHITECTURES")
mark_as_advanced(QDQ_PTXAS)

# Stops where QDQ_CUDA_ARCHITECTURES names what cannot be compiled for.
function(qdq_check_cuda_architectures)
  if(NOT QDQ_CUDA_ARCHITECTURES)
    return()
  endif()
  if(NOT "cuda" IN_LIST QDQ_DEVICE_TARGETS)
    message(FATAL_ERROR "QDQ_CUDA_ARCHITECTURES: QDQ_DEVICE_TARGETS has no cuda")
  endif()
  if(NOT QDQ_PTXAS)
    message(FATAL_ERROR "QDQ_CUDA_ARCHITECTURES: there is no ptxas, which makes cubins. A CUDA toolkit has it, and so has "
                        "\"pip install nvidia-cuda-nvcc-cu12\": set QDQ_PTXAS to where it is")
  endif()
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/architecture.ptx)
  file(WRITE ${ptx} ".version 6.0\n.target sm_70\n.address_size 64\n")
  foreach(architecture ${QDQ_CUDA_ARCHITECTURES})
    if(NOT architecture MATCHES "^[0-9]+$")
      message(FATAL_ERROR "QDQ_CUDA_ARCHITECTURES: \"${architecture}\" is not a number, as 80 and 90 are")
    endif()
    execute_process(COMMAND ${QDQ_PTXAS} -arch=sm_${architecture} -o ${ptx}.cubin ${ptx}
                    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(failed)
      message(FATAL_ERROR "QDQ_CUDA_ARCHITECTURES: ${QDQ_PTXAS} does not compile for ${architecture}: ${said}")
    endif()
  endforeach()
endfunction()

# The parameters of CUDA's generators for a list of architectures.
function(qdq_cubin_parameters architectures out)
  list(JOIN architectures "," joined)
  set(${out})
  if(joined)
    set(${out} ptxas=${QDQ_PTXAS} architectures=${joined})
  endif()
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()
