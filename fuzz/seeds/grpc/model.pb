
echo1