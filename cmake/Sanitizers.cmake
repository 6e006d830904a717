# Applies DS_SANITIZE to every target below. ASan and TSan cannot be combined.
if(DS_SANITIZE)
  if(DS_SANITIZE MATCHES "thread" AND DS_SANITIZE MATCHES "address")
    message(FATAL_ERROR "DS_SANITIZE: address and thread cannot be combined")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DS_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  # Reports need line numbers. With -O2 -g the build takes twice as long.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-O1> $<$<COMPILE_LANGUAGE:CXX>:-g1>)
  add_link_options(-fsanitize=${DS_SANITIZE})
  if(DS_SANITIZE MATCHES "undefined")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)
  endif()
  if(DS_SANITIZE MATCHES "thread")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)  # Asio uses atomic fences, which GCC's TSan does not model.
  endif()
endif()
