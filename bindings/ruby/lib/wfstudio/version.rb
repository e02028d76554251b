# Owns the version, which is the library's. Written by bindings/generate/ruby.py; do not edit.

module WfStudio
  VERSION = "0.1.0"
end
