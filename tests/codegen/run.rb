# Prints what exported classes return: ruby run.rb FILES. The contracts are those of bindings/ruby.

require "json"
$LOAD_PATH.unshift(File.expand_path("../../bindings/ruby/lib", __dir__))
require "studio"

index = JSON.parse(File.read("#{ARGV[0]}/index.json"))
all = index["classes"].to_h do |entry|
  load "#{ARGV[0]}/#{entry["path"]}"
  found = Object.const_get(entry["full"])
  raise "#{entry["full"]} has no contract" unless found.include?(Object.const_get("Studio#{entry["kind"].capitalize}"))

  [entry["full"], found.definition]
end
load "#{ARGV[0]}/#{index["skeleton"]}"
puts JSON.generate(all, max_nesting: 0)
