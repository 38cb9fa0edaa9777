# From generators/kernels.cmake to objects and the dispatch table.

# Records a target; see generators/kernels.cmake.
function(qdq_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HALIDE;INSTRUCTIONS;NEEDS;STREAM" "")
  foreach(field HALIDE INSTRUCTIONS NEEDS STREAM)
    set_property(GLOBAL PROPERTY QDQ_TARGET_${name}_${field} "${arg_${field}}")
  endforeach()
endfunction()

# Records an element type; see generators/kernels.cmake.
function(qdq_type name halide_type dtype)
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_HALIDE ${halide_type})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_DTYPE ${dtype})
endfunction()

# The Halide target string of a qdq target.
function(qdq_halide_target name out)
  get_property(halide GLOBAL PROPERTY QDQ_TARGET_${name}_HALIDE)
  if(NOT halide)
    message(FATAL_ERROR "QDQ_TARGETS: no target named \"${name}\" in generators/kernels.cmake")
  endif()
  if(NOT QDQ_KERNEL_ASSERTS)
    string(APPEND halide "-no_asserts-no_bounds_query")
  endif()
  set(${out} "${halide}-no_runtime" PARENT_SCOPE)
endfunction()

# qdq_add_objects(<target> <generator> NAMES <symbol>... PARAMS <params of all>... EACH <params of one>...)
# One object for each symbol; EACH holds as many entries as NAMES.
function(qdq_add_objects target generator)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "OBJECTS" "NAMES;PARAMS;EACH")
  qdq_halide_target(${target} halide_target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/kernels/${target})
  file(MAKE_DIRECTORY ${folder})
  set(outputs)
  set(commands)
  foreach(name param IN ZIP_LISTS arg_NAMES arg_EACH)
    list(APPEND outputs ${folder}/${name}.o)
    list(APPEND commands COMMAND qdq_generators -g ${generator} -f ${name} -n ${name} -e object -o ${folder}
         target=${halide_target} ${arg_PARAMS} ${param})
  endforeach()
  list(GET arg_NAMES 0 first)
  add_custom_command(OUTPUT ${outputs} ${commands} DEPENDS qdq_generators ${QDQ_TUNED_FILES}
                     COMMENT "Compiling kernels ${first}..." VERBATIM)
  set(${arg_OBJECTS} ${${arg_OBJECTS}} ${outputs} PARENT_SCOPE)
endfunction()

# Compiles every row of the manifest for one target; appends to the caller's QDQ_KERNEL_OBJECTS and to the three texts of
# runtime/src/kernel_rows.cpp.in.
function(qdq_add_target_kernels target)
  get_property(instructions GLOBAL PROPERTY QDQ_TARGET_${target}_INSTRUCTIONS)
  set(objects)
  set(declarations)
  set(tables)
  foreach(op quantize dequantize)
    set(rows)
    foreach(float ${QDQ_FLOAT_TYPES})
      foreach(stored ${QDQ_STORED_TYPES})
        get_property(float_halide GLOBAL PROPERTY QDQ_TYPE_${float}_HALIDE)
        get_property(stored_halide GLOBAL PROPERTY QDQ_TYPE_${stored}_HALIDE)
        get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
        get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
        if(op STREQUAL quantize)
          set(pair ${float}_${stored})
          set(types x.type=${float_halide} y.type=${stored_halide})
        else()
          set(pair ${stored}_${float})
          set(types x.type=${stored_halide} y.type=${float_halide})
        endif()
        list(TRANSFORM QDQ_FORMS PREPEND qdq_${target}_${op}_${pair}_ OUTPUT_VARIABLE names)
        list(TRANSFORM QDQ_FORMS PREPEND form= OUTPUT_VARIABLE forms)
        qdq_add_objects(${target} ${op} OBJECTS objects NAMES ${names} EACH ${forms}
                        PARAMS stored=${stored} instructions=${instructions} ${types})
        list(JOIN names ", " functions)
        string(APPEND declarations "${op}_kernel ${functions};\n")
        string(APPEND rows "    {${float_dtype}, ${stored_dtype}, {${functions}}},\n")
      endforeach()
    endforeach()
    string(APPEND tables "const kernel_row<${op}_kernel> ${target}_${op}[] = {\n${rows}};\n")
  endforeach()

  list(TRANSFORM QDQ_TRANSPOSED_BITS PREPEND qdq_${target}_transpose_ OUTPUT_VARIABLE names)
  foreach(bits name IN ZIP_LISTS QDQ_TRANSPOSED_BITS names)
    qdq_add_objects(${target} transpose OBJECTS objects NAMES ${name} PARAMS x.type=uint${bits} EACH y.type=uint${bits})
  endforeach()
  list(JOIN names ", " transposes)
  string(APPEND declarations "transpose_kernel ${transposes};\n")

  list(TRANSFORM QDQ_REPACKINGS PREPEND change= OUTPUT_VARIABLE changes)
  list(TRANSFORM QDQ_REPACKINGS PREPEND qdq_${target}_ OUTPUT_VARIABLE names)
  qdq_add_objects(${target} repack OBJECTS objects NAMES ${names} EACH ${changes})
  list(JOIN names ", " repackings)
  string(APPEND declarations "bytes_kernel ${repackings};\n")

  get_property(needs GLOBAL PROPERTY QDQ_TARGET_${target}_NEEDS)
  get_property(stream GLOBAL PROPERTY QDQ_TARGET_${target}_STREAM)
  set(QDQ_KERNEL_OBJECTS ${QDQ_KERNEL_OBJECTS} ${objects} PARENT_SCOPE)
  set(QDQ_KERNEL_DECLARATIONS "${QDQ_KERNEL_DECLARATIONS}${declarations}" PARENT_SCOPE)
  set(QDQ_KERNEL_TABLES "${QDQ_KERNEL_TABLES}${tables}" PARENT_SCOPE)
  set(QDQ_TARGET_ROWS "${QDQ_TARGET_ROWS}    {\"${target}\", ${needs}, ${target}_quantize, ${target}_dequantize,
     std::size(${target}_quantize), std::size(${target}_dequantize), {${transposes}},
     ${repackings}, ${stream}},\n" PARENT_SCOPE)
endfunction()
