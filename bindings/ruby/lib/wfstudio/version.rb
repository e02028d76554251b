# Owns the version, which is the library's.

module WfStudio
  VERSION = "0.1.0"
end
