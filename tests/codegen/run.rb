# Prints what exported classes return: ruby run.rb STUBS FILES

require "json"
require "#{ARGV[0]}/studio_contracts.rb"

index = JSON.parse(File.read("#{ARGV[1]}/index.json"))
all = index["classes"].to_h do |entry|
  load "#{ARGV[1]}/#{entry["path"]}"
  found = Object.const_get(entry["full"])
  raise "#{entry["full"]} has no contract" unless found.include?(Object.const_get("Studio#{entry["kind"].capitalize}"))

  [entry["full"], found.definition]
end
load "#{ARGV[1]}/#{index["skeleton"]}"
puts JSON.generate(all, max_nesting: 0)
