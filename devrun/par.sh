for f in "$@"; do echo $f; done | xargs -P 12 -I{} sh -c 'n=$(echo {} | tr / _); timeout 200 python3 -m pytest -q -m gpu --tb=short -p no:cacheprovider {} > /tmp/log_$n 2>&1; echo "{} rc $? $(tail -1 /tmp/log_$n)"'
for f in "$@"; do n=$(echo $f | tr / _); grep -a "^E  \|^FAILED" /tmp/log_$n | cut -c1-200 | sort | uniq -c | sort -rn | head -12; done
