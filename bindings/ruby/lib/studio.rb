# Owns nothing: files that were written for `require "studio"` find the contracts here.

require "wfstudio/contracts"
